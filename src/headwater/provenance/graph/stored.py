"""What a strategy has stored about a row, where it has: `absorption-eager` keeps all minimal explanations.

They are used where they name base rows only. Lazy absorption keeps some of them, and a stratum over other views names
rows of those views: there, as under all other strategies, explanations are found by searching.
"""

from __future__ import annotations

from headwater.maintain.engine import Engine
from headwater.maintain.strategies.absorption import Expressions
from headwater.maintain.strategies.ledger import Ground
from headwater.plan.stored_rows import Key


def stored_terms(engine: Engine, key: Key) -> list[frozenset[Key]] | None:
    """The minimal sets of base rows from which a row follows, if the row's strategy keeps them."""
    relation, codes = key
    infos = engine.workspace.infos
    for view in engine.views:
        if relation in view.rules.own and view.stratum.recursive:
            ledger = getattr(view.strategy, "ledger", None)
            if not isinstance(ledger, Expressions):
                return None
            proofs = ledger.proofs(Ground(relation, codes))
            if proofs is None:
                return None
            terms = []
            for proof in proofs:
                if any(p.absent or p.relation not in infos or not infos[p.relation].base for p in proof):
                    return None
                terms.append(frozenset((premise.relation, premise.codes) for premise in proof))
            return terms
    return None

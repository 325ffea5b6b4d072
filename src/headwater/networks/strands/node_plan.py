"""What every node of a program runs: relations by number, and the strands that a row of each sets off."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from headwater.networks.strands.network_program import Located, NetworkProgram
from headwater.networks.strands.scalars import Evaluator
from headwater.networks.strands.strand import Strand, StrandMaker
from headwater.networks.strands.update_strands import UpdateStrands, update_strands
from headwater.rules.checked import CheckedRule, Premise, UpdateRule
from headwater.rules.strata import components
from headwater.values.functions import Functions


@dataclass(frozen=True)
class NodePlan:
    """Shared by all nodes of a process: nothing in it changes.

    `triggered` has the strands that start with a row of a relation, `deriving` those that start with a row of a head.
    `indexes` are the sets of columns that rows of a relation are looked up by.
    """

    program: NetworkProgram
    relations: tuple[Located, ...]
    numbers: dict[str, int]
    rules: tuple[CheckedRule, ...]
    heads: tuple[int, ...]
    triggered: tuple[tuple[Strand, ...], ...]
    deriving: tuple[tuple[Strand, ...], ...]
    indexes: tuple[tuple[tuple[int, ...], ...], ...]
    updates: tuple[UpdateStrands, ...] = ()
    fired: tuple[tuple[tuple[UpdateStrands, Strand], ...], ...] = ()
    """By relation: the update rules that its rows fire, and the strands."""
    selected: frozenset[int] = frozenset()
    """The relations that rows which pass on may rest on."""


def plan_nodes(program: NetworkProgram, functions: Functions | None = None) -> NodePlan:
    """Compile all strands of a program."""
    relations = tuple(program.relations.values())
    numbers = {relation.name: number for number, relation in enumerate(relations)}
    maker = StrandMaker(numbers, Evaluator(functions or Functions()))
    triggered: list[list[Strand]] = [[] for _ in relations]
    deriving: list[list[Strand]] = [[] for _ in relations]
    indexes: list[dict[tuple[int, ...], None]] = [{} for _ in relations]
    for number, rule in enumerate(program.rules):
        premises = [item for item in rule.body if isinstance(item, Premise)]
        strands = [maker.from_premise(number, rule, position) for position in range(len(premises))]
        for strand, premise in zip(strands, premises, strict=True):
            triggered[numbers[premise.relation]].append(strand)
        from_head = maker.from_head(number, rule)
        deriving[numbers[rule.relation]].append(from_head)
        for strand in (*strands, from_head):
            for table, columns in strand.lookups:
                indexes[table][columns] = None
    recursive = recursions(program.updates)
    updates = tuple(
        update_strands(number, update, maker, recursive.get(update.relation, frozenset()))
        for number, update in enumerate(program.updates)
    )
    fired: list[list[tuple[UpdateStrands, Strand]]] = [[] for _ in relations]
    for compiled in updates:
        for table, strand in compiled.fired:
            fired[table].append((compiled, strand))
        for strand in compiled.strands:
            for table, columns in strand.lookups:
                indexes[table][columns] = None
    return NodePlan(
        program,
        relations,
        numbers,
        program.rules,
        tuple(numbers[rule.relation] for rule in program.rules),
        tuple(map(tuple, triggered)),
        tuple(map(tuple, deriving)),
        tuple(map(tuple, indexes)),
        updates,
        tuple(map(tuple, fired)),
        frozenset(numbers[name] for name in under_selections(program)),
    )


def under_selections(program: NetworkProgram) -> set[str]:
    """The candidates of selections inside recursions, and all relations that they depend on in any way."""
    reads: dict[str, set[str]] = {}
    for rule in (*program.rules, *(update.rule for update in program.updates)):
        premises = {item.relation for item in rule.body if isinstance(item, Premise)}
        reads.setdefault(rule.relation, set()).update(premises)
    for update in program.updates:
        reads.setdefault(update.relation, set()).add(update.rule.relation)
    for publication in program.publications:
        reads.setdefault(publication.relation, set()).update(publication.reads())
    for passing in program.passing:
        reads.setdefault(passing.relation, set()).add(passing.candidates)
    found: set[str] = set()
    waiting = [passing.candidates for passing in program.passing]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += reads.get(name, ())
    return {name for name in found if name in program.relations}


def recursions(updates: Iterable[UpdateRule]) -> dict[str, frozenset[str]]:
    """Of each relation that update rules write, those that it depends on itself through."""
    graph: dict[str, list[str]] = {}
    for update in updates:
        reads = [item.relation for item in update.rule.body if isinstance(item, Premise)]
        graph.setdefault(update.relation, []).extend(reads)
    found: dict[str, frozenset[str]] = {}
    for members in components(graph):
        for name in members:
            found[name] = frozenset(members) if len(members) > 1 or name in graph[name] else frozenset()
    return found

"""What is asked about: a relation and a row, checked and as codes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from headwater.errors import DataError
from headwater.plan.stored_rows import Key
from headwater.provenance.evidence import Evidence
from headwater.provenance.show.wording import Fact
from headwater.rules.checked import RelationInfo
from headwater.values.codec import Codec
from headwater.values.scalars import show


def key_of(evidence: Evidence, relation: str, row: Any, *, intern: bool = False) -> Key | None:
    """The row's key; `None` if it has a value that no row ever had (unless `intern` gives it a code)."""
    return row_key(evidence.info(relation), evidence.codec, relation, row, intern=intern)


def row_key(info: RelationInfo, codec: Codec, relation: str, row: Any, *, intern: bool = False) -> Key | None:
    """The same, where there is no evidence yet."""
    if not isinstance(row, (tuple, list, Mapping)):
        raise DataError(
            "wrong-type",
            f"{show(row)} is not a row of {relation}",
            hint=row_hint(info),
        )
    given = dict(row) if isinstance(row, Mapping) else tuple(row)
    if isinstance(given, tuple) and len(given) != info.arity:
        message = f"{relation} has {info.arity} columns ({', '.join(info.columns)}), not {len(given)}"
        raise DataError("wrong-arity", message, hint=row_hint(info))
    if intern and None not in info.types:
        matrix = info.layout.encode(codec, [given], relation, asked=True)
    else:
        matrix, _ = info.layout.find(codec, [given], relation, asked=True)
    if not matrix.shape[0]:
        return None
    return relation, tuple(np.asarray(matrix[0]).tolist())


def not_there(fact: Fact) -> DataError:
    """For those who ask why a row is there that is not."""
    return DataError(
        "row-not-there",
        f"{fact} is not there",
        hint=f"ask why it is not: why_not({fact.relation!r}, {fact.row!r})",
    )


def there(fact: Fact) -> DataError:
    """For those who ask why a row is not there that is."""
    return DataError("row-there", f"{fact} is there", hint=f"ask why: why({fact.relation!r}, {fact.row!r})")


def row_hint(info: RelationInfo) -> str:
    """What a row looks like."""
    return f"a tuple: ({', '.join(info.columns)}{',' if info.arity == 1 else ''})"

"""Functions of lists, most of them NDlog's.

A list inside is a tuple; its elements all have one type. Positions count from 0. Asking an empty list for an
element, or a list for one it does not have, fails.

`concat_path(S, D, P)` is what `f_concatPath(link(S, D), P)` means: the path P with S before it, and the path
from S to D where P is empty. With two plain arguments `f_concatPath` puts an element or a list before a list.
`f_member` and `f_empty` give 1 or 0, as in P2, and may stand as a literal of their own. `f_append(X)` is the
list of X alone, as in RapidNet.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headwater.values.signatures import Overload, pointwise

Items = tuple[Any, ...]


def concat_path(source: Any, destination: Any, path: Items) -> Items:
    """The path with `source` before it; `[source, destination]` if it is empty.

    >>> concat_path("a", "b", ()), concat_path("a", "b", ("b", "c"))
    (('a', 'b'), ('a', 'b', 'c'))
    """
    return (source, *path) if path else (source, destination)


def item(items: Items, place: int) -> Any:
    """The element at `place`."""
    if not 0 <= place < len(items):
        raise ValueError(f"the list has {len(items)} elements, counted from 0")
    return items[place]


def _first(items: Items) -> Any:
    return _filled(items)[0]


def _last(items: Items) -> Any:
    return _filled(items)[-1]


def _filled(items: Items) -> Items:
    if not items:
        raise ValueError("the list is empty")
    return items


def _place(items: Items, value: Any) -> int:
    return items.index(value) if value in items else -1


def _member(items: Items, value: Any) -> int:
    return int(value in items)


_LISTS: Mapping[str, tuple[tuple[str, Any], ...]] = {
    "list": (("T... -> list[T]", lambda *items: items), ("-> list[T]", tuple)),
    "concat_path": (("T, T, list[T] -> list[T]", concat_path),),
    "f_concatPath": (
        ("list[T], list[T] -> list[T]", lambda left, right: left + right),
        ("T, list[T] -> list[T]", lambda value, items: (value, *items)),
    ),
    "f_append": (
        ("list[T], T -> list[T]", lambda items, value: (*items, value)),
        ("T -> list[T]", lambda value: (value,)),
    ),
    "f_cons": (("T, list[T] -> list[T]", lambda value, items: (value, *items)),),
    "f_car": (("list[T] -> T", _first),),
    "f_cdr": (("list[T] -> list[T]", lambda items: _filled(items)[1:]),),
    "f_getattr": (("list[T], int -> T", item),),
    "f_indexof": (("list[T], T -> int", _place),),
    "f_prepend": (("T, list[T] -> list[T]", lambda value, items: (value, *items)),),
    "f_concat": (("list[T], list[T] -> list[T]", lambda left, right: left + right),),
    "concat": (("list[T], list[T] -> list[T]", lambda left, right: left + right),),
    "f_init": (("T, T -> list[T]", lambda left, right: (left, right)),),
    "f_member": (("list[T], T -> int", _member),),
    "f_size": (("list[T] -> int", len),),
    "f_empty": (("list[T] -> int", lambda items: int(not items)),),
    "f_first": (("list[T] -> T", _first),),
    "f_last": (("list[T] -> T", _last),),
    "f_item": (("list[T], int -> T", item),),
    "f_removeFirst": (("list[T] -> list[T]", lambda items: _filled(items)[1:]),),
    "f_removeLast": (("list[T] -> list[T]", lambda items: _filled(items)[:-1]),),
}

_OF_ELEMENTS = ("list", "f_init")  # what is null in them is an element

LISTS: Mapping[str, list[Overload]] = {
    name: [pointwise(name, text, function, strict=name not in _OF_ELEMENTS) for text, function in overloads]
    for name, overloads in _LISTS.items()
}

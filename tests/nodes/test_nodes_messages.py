"""Messages between driver and nodes: each comes back as it was sent, and nothing else is believed."""

from __future__ import annotations

import dataclasses
import pickle
import types
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater import events
from headwater.events import Event
from headwater.nodes.encoding import NotAMessage, decode, encode
from headwater.nodes.messages.coming import Order, Outcome
from headwater.nodes.messages.message import Command, Message, Reply
from headwater.nodes.messages.outcomes import Failure
from headwater.nodes.messages.reading import Count, Find
from headwater.nodes.node import Node
from headwater.nodes.peers import Peers
from headwater.nodes.row_tables import SMALL, pack, unpack
from headwater.values.codec import Codec
from headwater.values.types import INT, STRING, Type, list_of

KINDS = {name: kind for name, kind in Message.kinds.items() if dataclasses.is_dataclass(kind)}
PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    bool: st.booleans(),
    int: st.integers(),
    float: st.floats(allow_nan=False),
    str: st.text(),
    bytes: st.binary(max_size=20),
    type(None): st.none(),
    Type: st.sampled_from([INT, STRING, list_of(list_of(INT))]),
    Event: st.sampled_from([events.Compacted("r"), events.Scanned("link", ("reach",))]),
    pa.Table: st.lists(st.integers(0, 9)).map(lambda numbers: pa.table({"0": pa.array(numbers, pa.int64())})),
}


def of(hint: Any) -> st.SearchStrategy[Any]:
    """Any value that a field declared so may hold."""
    if hint in PLAIN:
        return PLAIN[hint]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return st.one_of(*map(of, arguments))
    if origin is tuple and arguments[-1] is ...:
        return st.lists(of(arguments[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*map(of, arguments))
    if origin is list:
        return st.lists(of(arguments[0]), max_size=3)
    if origin is dict:
        return st.dictionaries(of(arguments[0]), of(arguments[1]), max_size=3)
    kind = origin or hint
    if not dataclasses.is_dataclass(kind):
        return st.one_of(*(of(each) for each in KINDS.values() if issubclass(each, kind)))
    hints = get_type_hints(kind)
    return st.builds(kind, **{field.name: of(hints[field.name]) for field in dataclasses.fields(kind)})


@pytest.mark.parametrize("name", sorted(KINDS))
def test_a_message_comes_back_as_it_was(name: str):
    @settings(max_examples=15, deadline=None, database=None, derandomize=True)
    @given(of(KINDS[name]))
    def follow(message: Message) -> None:
        assert decode(encode(message)) == message

    follow()


def test_every_command_has_a_method_on_nodes_and_a_reply():
    commands = {kind for kind in KINDS.values() if issubclass(kind, Command)}
    node = Node(0, Peers(0, 1, "", ""), {})
    assert set(node._commands) == commands
    for kind in commands:
        (base,) = (base for base in kind.__orig_bases__ if get_origin(base) is Command)  # type: ignore[attr-defined]
        answer = get_args(base)[0]
        named = answer if isinstance(answer, type) else KINDS[answer.__forward_arg__]
        assert issubclass(named, Reply)


@pytest.mark.parametrize(
    "head",
    [
        b"", b"[]", b"7", b"{}", b"null", b'{"message":{"is":"Count","relation":"link"}}',
        b'{"message":{"is":"Count"},"tables":[]}',
        b'{"message":{"is":"Count","relation":7},"tables":[]}',
        b'{"message":{"is":"Count","relation":"r","more":1},"tables":[]}',
        b'{"message":{"is":"Message"},"tables":[]}',
        b'{"message":{"is":"os.system"},"tables":[]}',
        b'{"message":{"is":"Leave","again":1},"tables":[]}',
        b'{"message":{"is":"Find","relation":"r","row":0},"tables":[]}',
        b'{"message":{"is":"Find","relation":"r","row":{"width":1,"numbers":null,"table":0}},"tables":[]}',
        b'{"message":{"is":"Find","relation":"r","row":{"width":1,"numbers":-1,"table":null}},"tables":[0]}',
        b'{"message":{"is":"Find","relation":"r","row":{"width":1,"numbers":0,"table":null}},"tables":[8]}',
        b'{"message":{"is":"Find","relation":"r","row":{"width":1,"numbers":0,"table":null}},"tables":[-8]}',
        b'{"message":{"is":"Find","relation":"r","row":{"width":1,"numbers":0,"table":null}},"tables":[true]}',
        b'{"message":{"is":"Order","number":1,"command":{"is":"Beat"},"commit":false,"answered":true},"tables":[]}',
        b'{"message":{"is":"Connect","addresses":[[1]]},"tables":[]}',
    ],
)  # fmt: skip
def test_what_is_no_message_is_refused(head: bytes):
    with pytest.raises(NotAMessage):
        decode(len(head).to_bytes(4, "little") + head)


FEW, MANY = 3, 3 + SMALL // 16
NULL, LOWEST = None, -1 << 63  # whose codes are no values: each node has its own for them


@pytest.mark.parametrize(
    ("types", "rows", "plain"),
    [
        ((INT, INT), [(n, -n) for n in range(FEW)], True),
        ((INT, INT), [], True),
        ((STRING,), [], True),
        ((INT, INT), [(n, -n) for n in range(MANY)], False),
        ((INT, STRING), [(n, "abc"[n]) for n in range(FEW)], False),
        ((INT, INT), [(1, 2), (3, NULL)], False),
        ((INT, INT), [(1, LOWEST), (3, 4)], False),
        ((), [()], False),
    ],
)
def test_a_few_rows_of_plain_numbers_cross_as_they_lie(
    types: tuple[Type, ...], rows: list[tuple[Any, ...]], plain: bool
):
    here, there = Codec(), Codec()
    there.encode_value("b", STRING)
    there.to_matrix([(LOWEST + 1,)], (INT,), "r", ("a",))
    names = tuple("ab"[: len(types)])
    codes = (
        here.to_matrix(rows, types, "r", names, nullable=(True,) * len(types))
        if rows
        else np.empty((0, len(types)), np.int64)
    )
    sent = decode(encode(Find("r", pack(here, codes, types))))
    assert isinstance(sent, Find) and (sent.row.table is None) is plain
    came = unpack(there, sent.row, types)
    assert came.flags.writeable and there.decode_rows(came, types) == rows


def test_no_prefix_and_no_pickle_is_a_message():
    whole = encode(Outcome(1, Reply.kinds["Counted"](3)))  # type: ignore[arg-type, call-arg]
    for length in range(len(whole) - 8):
        with pytest.raises(NotAMessage):
            decode(whole[:length])
    with pytest.raises(NotAMessage):
        decode(pickle.dumps(Count("link")))


def test_a_field_that_holds_what_it_must_not_is_not_sent():
    for wrong in (Count(3), Order("1", Count("r")), Failure("x")):  # type: ignore[arg-type]
        with pytest.raises((NotAMessage, TypeError, AttributeError)):
            encode(wrong)

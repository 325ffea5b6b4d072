"""The dictionary of strings, by columns, beside a plain dictionary: the same codes for the same strings."""

from __future__ import annotations

import random
import sys
import threading

import numba  # noqa: F401  (tables are made once numba is loaded)
import numpy as np
import pyarrow as pa
import pytest

from headwater.kernel.interpreted import SHORT
from headwater.kernel.texts import TextColumn, Texts
from headwater.values.arrow_numbers import VALUES_READ_AT_ONCE, array_of, text_array
from headwater.values.codec import Codec
from headwater.values.dictionary import Dictionary
from headwater.values.strings import MANY_STRINGS, MOST_REMEMBERED, Strings
from headwater.values.temporary import TemporaryDictionary, temporary_codec
from headwater.values.types import INT, STRING

LETTERS = ["a", "b", "Z", "0", " ", "", "ä", "漢", "🐙", "\x00"]


def drawn(choose: random.Random, longest: int) -> str:
    """Strings of all lengths, many of which have beginnings or ends in common."""
    length = choose.choice([0, 1, 7, 8, 9, 15, 16, 31, 32, 33, 64, choose.randrange(longest)])
    text = choose.choice(["", "x" * 40, "http://example.org/"]) + "".join(choose.choices(LETTERS, k=length))
    return text + choose.choice(["", "", f"{choose.randrange(50)}", "y" * 33])


def by_columns() -> Strings:
    """A dictionary that has a table."""
    strings = Strings()
    strings._table()
    return strings


@pytest.mark.parametrize("seed", range(6))
def test_codes_are_those_of_a_plain_dictionary(seed: int):
    choose = random.Random(seed)
    plain, strings = Dictionary(), Strings()
    for step in range(60):
        if step == 20:
            strings._table()
        values = [drawn(choose, 120) for _ in range(choose.choice([1, 5, 40, 300]))]
        if choose.random() < 0.3:
            values = [*plain.decode(range(len(plain))), *values]
            choose.shuffle(values)
        way = choose.randrange(5)
        if way == 0:
            assert strings.encode(values).tolist() == plain.encode(values).tolist()
        elif way == 1:
            assert strings.find_all(values).tolist() == plain.find_all(values).tolist()
        elif way == 2:
            assert [strings.code(value) for value in values] == [plain.code(value) for value in values]
        elif way == 3:
            assert [strings.find(value) for value in values] == [plain.find(value) for value in values]
        else:
            kind = choose.choice([pa.string(), pa.large_string(), pa.string_view()])
            start = choose.randrange(len(values))
            array = pa.array(values, kind)[start:]
            intern = choose.random() < 0.5
            expected = plain.encode_texts(array, intern=intern)
            assert strings.encode_texts(array, intern=intern).tolist() == expected.tolist()
        assert len(strings) == len(plain)
        codes = np.array(
            [choose.randrange(len(plain)) for _ in range(choose.choice([1, 3, 100]))] if len(plain) else [],
            np.int64,
        )
        assert strings.decode(codes) == plain.decode(codes)
        assert strings.texts(codes).equals(plain.texts(codes))
        assert strings.since(len(plain) // 2) == plain.since(len(plain) // 2)


def test_a_table_is_made_for_many_strings_and_keeps_the_codes():
    strings = Strings()
    few = [f"few {i}" for i in range(10)]
    assert strings.encode(few).tolist() == list(range(10))
    assert not strings.takes_columns(10)
    many = [f"many {i}" for i in range(MANY_STRINGS)]
    assert strings.encode([*few, *many]).tolist() == list(range(10 + MANY_STRINGS))
    assert strings.takes_columns(1)
    assert strings.find("few 3") == 3
    assert strings.decode([3, 12]) == ["few 3", "many 2"]
    assert strings.nbytes > 0


def test_strings_with_equal_hashes_are_told_apart():
    """Among so many, some pairs have the same 32 bits."""
    texts = Texts()
    values = [str(i).encode() for i in range(300_000)]
    numbers = texts.add(TextColumn.of(values))
    assert numbers.tolist() == list(range(300_000))
    assert texts.find(TextColumn.of(values[::-1])).tolist() == list(range(300_000))[::-1]
    slots = texts._stand.slots
    tags = (slots[slots != 0] >> 32) & 0xFFFFFFFF
    assert len(np.unique(tags)) < 300_000


def test_lengths_that_differ_by_a_zero_byte_are_told_apart():
    strings = by_columns()
    values = ["\x00" * length for length in range(100)]
    assert strings.encode(values).tolist() == list(range(100))
    assert strings.decode(range(100)) == values


def test_half_a_surrogate_pair_is_kept_as_it_is():
    strings = Strings()
    odd = ["\ud800", "a\udfff"]
    codes = [strings.code(value) for value in odd]
    strings._table()
    assert [strings.find(value) for value in odd] == codes
    strings.encode([f"{i}" for i in range(100)])
    assert strings.decode(np.arange(102))[:2] == odd


def test_what_is_refused_for_memory_leaves_nothing_behind():
    refuse = False

    def ask(needed: int, what: str) -> None:
        if refuse:
            raise MemoryError(what)

    strings = Strings(ask)
    strings.encode([f"{i}" for i in range(MANY_STRINGS)])
    refuse = True
    with pytest.raises(MemoryError, match="new strings"):
        strings.encode([f"more {i}" for i in range(MANY_STRINGS)])
    assert len(strings) == MANY_STRINGS
    assert strings.find("more 1") == -1
    refuse = False
    more = [f"other {i}" for i in range(MANY_STRINGS)]
    assert strings.encode(more).tolist() == list(range(MANY_STRINGS, 2 * MANY_STRINGS))


@pytest.mark.parametrize("length", [20, 20_000])
def test_strings_that_come_often_take_room_once(length: int):
    texts = Texts()
    values = [f"{i % 10}".encode() * length for i in range(4_000_000 // length)]
    assert texts.add(TextColumn.of(values)).tolist() == [i % 10 for i in range(len(values))]
    assert texts.nbytes < 1_500_000 < sum(map(len, values))
    assert texts.bytes_of(7) == b"7" * length


def test_strings_are_refused_together_and_nothing_is_taken():
    """Room is made a piece at a time: what is refused later takes what was added before back."""
    asked: list[int] = []

    def ask(needed: int, what: str) -> None:
        asked.append(needed)
        if needed > 2_000_000:
            raise MemoryError(what)

    texts = Texts(ask)
    texts.add(TextColumn.of([b"here"]))
    many = TextColumn.of([f"{i}".encode() for i in range(200_000)])
    for _ in range(5):
        with pytest.raises(MemoryError):
            texts.add(many)
        assert (len(texts), texts.find(TextColumn.of([b"here", b"7"])).tolist()) == (1, [0, -1])
    assert len(asked) > 5 and max(asked) < 5_000_000, "trying again asks for no more"
    more = [f"other {i}".encode() for i in range(3000)]
    assert texts.add(TextColumn.of([b"here", *more])).tolist() == list(range(3001))


def test_what_is_known_is_found_without_memory_for_a_table():
    """A database that is full must let rows be deleted."""
    full = False

    def ask(needed: int, what: str) -> None:
        if full:
            raise MemoryError(what)

    strings = Strings(ask)
    known = [f"{i}" for i in range(MANY_STRINGS - 1)]
    strings.encode(known)
    full = True
    many = [*known, *known]
    codes = [*range(MANY_STRINGS - 1), *range(MANY_STRINGS - 1)]
    assert strings.find_all([*many, "z"]).tolist() == [*codes, -1]
    assert strings.encode(many).tolist() == codes
    for intern in (True, False):
        assert strings.encode_texts(pa.array(many), intern=intern).tolist() == codes
    with pytest.raises(MemoryError):
        strings.encode([*many, "z"])
    full = False
    assert strings.encode([*many, "z"]).tolist() == [*codes, MANY_STRINGS - 1]
    assert strings.takes_columns(1), "now there is a table"


def test_what_was_broken_off_before_it_counted_is_written_over():
    strings = by_columns()
    strings.encode(["a", "b"])
    before = strings._texts._stand
    strings.encode([f"gone {i}" for i in range(200)])
    strings._texts._stand = before  # as if the call had been interrupted just before its end
    assert strings.find("gone 7") == -1
    assert strings.encode([f"here {i}" for i in range(300)]).tolist() == list(range(2, 302))
    assert strings.encode(["gone 7", "here 7"]).tolist() == [302, 9]
    assert strings.decode([0, 2, 302]) == ["a", "here 0", "gone 7"]


def test_temporary_strings_stand_above_those_of_a_table():
    below = by_columns()
    below.encode(["a", "b"])
    over = TemporaryDictionary(below)
    assert over.encode(["b", "z", "a"]).tolist() == [1, 2, 0]
    assert below.encode(["y"]).tolist() == [2]
    assert (over.find("y"), over.decode([0, 2]), over.since(1)) == (-1, ["a", "z"], ["b", "z"])


def test_single_strings_are_remembered_up_to_a_bound(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("headwater.values.strings.MOST_REMEMBERED", 10)
    assert MOST_REMEMBERED > 10
    strings = by_columns()
    assert [strings.code(f"{i}") for i in range(35)] == list(range(35))
    assert len(strings._codes) <= 10
    assert [strings.code(f"{i}") for i in range(35)] == list(range(35))


def test_readers_may_look_while_somebody_adds():
    strings = by_columns()
    strings.encode([f"{i}" for i in range(1000)])
    array = pa.array([f"{i}" for i in range(1000)])
    wrong: list[object] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            found = strings.encode_texts(array, intern=False)
            if found.tolist() != list(range(1000)) or strings.decode([5, 999]) != ["5", "999"]:
                wrong.append(found)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for batch in range(60):
        strings.encode([f"more {batch} {i}" for i in range(1500)])
    done.set()
    for reader in readers:
        reader.join()
    assert not wrong
    assert len(strings) == 91_000


def test_rows_come_and_go_by_columns():
    codec = Codec()
    rows = [(f"n{i % 700}", i) for i in range(3000)]
    columns = ("name", "number")
    matrix = codec.to_matrix(rows, (STRING, INT), "r", columns)
    table = codec.to_table(matrix, columns, (STRING, INT))
    assert codec.strings.takes_columns(1)
    assert table.column("name").type == pa.string()
    assert codec.decode_rows(matrix, (STRING, INT)) == rows
    assert codec.from_table(table, (STRING, INT), "r", columns).tolist() == matrix.tolist()
    encoded = codec.to_table(matrix, columns, (STRING, INT), dictionary=True)
    assert codec.from_table(encoded, (STRING, INT), "r", columns).tolist() == matrix.tolist()
    over = temporary_codec(codec)
    assert over.find_rows([("n1", 1), ("new", 1)], (STRING, INT), relation="r", columns=columns)[1] == 1


def test_tables_are_never_interpreted():
    """Reading eight bytes at once has no meaning in Python: arrays are too long for that from the beginning."""
    assert Texts()._stand.data.shape[0] > SHORT


@pytest.mark.parametrize("seed", range(4))
def test_strings_become_arrows_without_its_own_way(seed: int, monkeypatch: pytest.MonkeyPatch):
    """Several pieces, with the character that is put between strings in some of them and in none."""
    choose = random.Random(seed)
    plain = [f"{number}ä" for number in range(VALUES_READ_AT_ONCE + choose.randrange(VALUES_READ_AT_ONCE))]
    texts = plain + [drawn(choose, 60) for _ in range(choose.randrange(2 * VALUES_READ_AT_ONCE))]
    expected = pa.array(texts, pa.large_string())
    monkeypatch.delitem(sys.modules, "pandas", raising=False)
    assert text_array(texts).equals(expected)
    assert text_array([]).equals(pa.array([], pa.large_string()))
    with pytest.raises(UnicodeEncodeError):
        text_array(["a", "\ud800"])


@pytest.mark.parametrize("kind", ["int64", "int32", "float64", "bool"])
def test_numbers_become_arrows_without_its_own_way(kind: str):
    numbers = np.arange(100).astype(kind)
    nulls = np.arange(100) % 7 == 3
    assert array_of(numbers).equals(pa.array(numbers))
    assert array_of(numbers, nulls).equals(pa.array(numbers, mask=nulls))
    assert array_of(numbers[::3], nulls[::3]).equals(pa.array(numbers[::3], mask=nulls[::3]))
    assert array_of(numbers[:0]).equals(pa.array(numbers[:0]))

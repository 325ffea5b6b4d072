"""Transactions as bytes and back: every value as it was, whether rows are read one by one or by columns."""

from __future__ import annotations

import datetime
import random

import pytest

import headwater as hw
from headwater import LabelledNull
from headwater.exchange.edit import Edit, Transaction, TransactionId
from headwater.exchange.wire import FEWEST_READ_TOGETHER, decode, encode
from headwater.values.label_text import literal, parse_literal, parse_literals

VALUES = (
    0, 1, -7, 10**15, 1.0, -0.5, True, False, None, "", "1", "it's", "a\\b", "a\nb", "\u2028", "'", '"', "ünï",
    (1, None, "x"), LabelledNull("m_c", (1, "it's")), datetime.date(2024, 1, 31), float("inf"),
)  # fmt: skip
COLUMNS = (
    VALUES, [1, 2, -3], ["a", "b c", ""], [1, "1"], ["plain", "it's"], [None, 4], [1.5, 2], [True, 1],
)  # fmt: skip


def typed(transaction: Transaction) -> list:
    return [(each.sign, each.relation, [(type(v), v) for v in each.row]) for each in transaction.edits]


@pytest.mark.parametrize("edits", [1, FEWEST_READ_TOGETHER - 1, FEWEST_READ_TOGETHER, 60])
def test_rows_come_back_as_they_were(edits):
    chance = random.Random(edits)
    for _ in range(40):
        columns = {name: chance.choices(COLUMNS, k=chance.randint(0, 4)) for name in ("R", "S", "T")}
        made = []
        for _ in range(edits):
            name = chance.choice(list(columns))
            made.append(Edit(chance.choice("+-"), name, tuple(map(chance.choice, columns[name]))))
        sent = Transaction(TransactionId("P", 3), tuple(made), (TransactionId("Q", 1),))
        back = decode(encode(sent))
        assert back == sent and typed(back) == typed(sent)


def test_texts_of_a_column_are_read_as_one_by_one():
    chance = random.Random(5)
    for column in COLUMNS:
        texts = [literal(chance.choice(column)) for _ in range(30)]
        assert list(map(repr, parse_literals(texts))) == [repr(parse_literal(text)) for text in texts]
    assert parse_literals([]) == []


@pytest.mark.parametrize(
    "bad", ['"1\\n2"', "\"'a'\\n'b'\"", '"1,2"', '"\'a"', '""', "5", "null", "[]", '"x"']
)
@pytest.mark.parametrize("edits", [1, 20])
def test_what_is_no_value_is_refused(bad, edits):
    rows = ",".join(
        f'["+","R",[{bad if number == 0 else chr(34) + "7" + chr(34)}]]' for number in range(edits)
    )
    with pytest.raises(hw.ExchangeError) as caught:
        decode(f'{{"id":"P:1","edits":[{rows}]}}'.encode())
    assert caught.value.code == "damaged-transaction"

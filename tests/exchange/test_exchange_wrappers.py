"""Tables of other databases as relations of peers: edits come in once, what an exchange did goes out once."""

from __future__ import annotations

import datetime
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.errors import ExchangeError
from headwater.exchange.edit import Edit
from headwater.exchange.wrappers.open import open_wrapper
from headwater.exchange.wrappers.wrapper import InstanceChange, WrappedColumn, WrappedTable, Wrapper
from headwater.values.labelled import LabelledNull
from headwater.values.types import INT, STRING, parse_type

U = WrappedTable("U", "U", (WrappedColumn("nam", INT), WrappedColumn("can", INT, labelled=True)))
ODD = WrappedTable(
    "odd", 'a "b" c', (WrappedColumn("select", STRING), WrappedColumn("x%s:y", STRING, labelled=True))
)
C2 = LabelledNull("c", (2,))
DATABASES = ["sqlite", "postgresql", "decoding", "duckdb"]
"""Kinds of addresses with statements and transactions: all but Delta and Parquet."""


@contextmanager
def opened(address: tuple[str, str], *tables: WrappedTable, peer: str = "uBio") -> Iterator[Wrapper]:
    wrapper = open_wrapper(peer, address[0], tables, address[1])  # type: ignore[arg-type]
    try:
        yield wrapper
    finally:
        wrapper.close()


def user(
    address: tuple[str, str], table: WrappedTable, *, insert: list[Any] = (), delete: list[Any] = ()
) -> None:  # type: ignore[assignment]
    """Somebody edits a table with tools of their own; rows have the table's own columns."""
    if address[0].startswith("delta://"):
        _user_of_delta(address[0].removeprefix("delta://"), table, insert, delete)
        return
    if address[0].startswith("parquet://"):
        _user_of_parquet(Path(address[0].removeprefix("parquet://")) / table.table, table, insert, delete)
        return
    engine = sa.create_engine(address[0])
    quoted = sa.sql.quoted_name
    with engine.begin() as connection:
        made = sa.table(quoted(table.table, True), *[sa.column(quoted(name, True)) for name in table.names])
        for row in delete:
            same = sa.and_(*[_is(made.c[n], v) for n, v in zip(table.names, row, strict=True)])
            connection.execute(made.delete().where(same))
        for row in insert:
            connection.execute(made.insert().values(dict(zip(table.names, row, strict=True))))
    engine.dispose()


def _is(column: Any, value: Any) -> Any:
    return column.is_(None) if value is None else column == value


def _user_of_delta(folder: str, table: WrappedTable, insert: list[Any], delete: list[Any]) -> None:
    import deltalake
    import pyarrow as pa

    found = deltalake.DeltaTable(f"{folder}/{table.table}")
    schema = pa.schema(found.schema().to_arrow())
    for row in delete:
        tests = [
            f'"{n}" ' + ("IS NULL" if v is None else f"= {v!r}")
            for n, v in zip(table.names, row, strict=True)
        ]
        found.delete(" AND ".join(tests))
    if insert:
        rows = [dict(zip(table.names, row, strict=True)) for row in insert]
        deltalake.write_deltalake(found, pa.Table.from_pylist(rows, schema=schema), mode="append")


def _user_of_parquet(folder: Path, table: WrappedTable, insert: list[Any], delete: list[Any]) -> None:
    """As Spark does: appending is one more file, anything else overwrites all of them."""
    import pyarrow as pa
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq

    held = ds.dataset([str(path) for path in folder.glob("*.parquet")]).to_table()
    there = held.to_pylist()
    come = [dict(zip(table.names, row, strict=True)) for row in insert]
    if delete:
        kept = [row for row in there if tuple(row[name] for name in table.names) not in delete]
        for path in folder.glob("*.parquet"):
            path.unlink()
        come = kept + come
    pq.write_table(
        pa.Table.from_pylist(come, schema=held.schema), folder / f"part-{uuid.uuid4().hex}.parquet"
    )


def rows(address: tuple[str, str], table: WrappedTable) -> set[tuple[Any, ...]]:
    """All that the table holds, labels among it."""
    names = [*table.names, *(f"{column.name}?" for column in table.columns if column.labelled)]
    if address[0].startswith("delta://"):
        import deltalake

        found = deltalake.DeltaTable(
            f"{address[0].removeprefix('delta://')}/{table.table}"
        ).to_pyarrow_table()
        return {tuple(row[name] for name in names) for row in found.to_pylist()}
    if address[0].startswith("parquet://"):
        import pyarrow.dataset as ds

        files = (Path(address[0].removeprefix("parquet://")) / table.table).glob("*.parquet")
        there = ds.dataset([str(path) for path in files]).to_table().to_pylist()
        return {tuple(row[name] for name in names) for row in there}
    engine = sa.create_engine(address[0])
    with engine.connect() as connection:
        quoted = sa.sql.quoted_name
        made = sa.table(quoted(table.table, True), *[sa.column(quoted(name, True)) for name in names])
        found = {tuple(row) for row in connection.execute(sa.select(made))}
    engine.dispose()
    return found


def edits(*texts: tuple[str, tuple[Any, ...]], relation: str = "U") -> list[Edit]:
    return [Edit(sign, relation, row) for sign, row in texts]  # type: ignore[arg-type]


def flat(captured: Any) -> list[Edit]:
    return [edit for transaction in captured.transactions for edit in transaction]


def test_what_is_there_is_imported_and_what_users_do_is_captured_once(address: tuple[str, str]) -> None:
    with opened(address, U) as wrapper:
        user(address, U, insert=[(2, 5), (3, None)])
        first = wrapper.capture({})
        assert sorted(flat(first), key=str) == sorted(edits(("+", (2, 5)), ("+", (3, None))), key=str)
        user(address, U, insert=[(7, 7)], delete=[(2, 5)])
        second = wrapper.capture(first.mark)
        assert sorted(flat(second), key=str) == sorted(edits(("+", (7, 7)), ("-", (2, 5))), key=str)
        assert flat(wrapper.capture(second.mark)) == []


def test_what_was_captured_and_not_kept_comes_again(address: tuple[str, str]) -> None:
    with opened(address, U) as wrapper:
        first = wrapper.capture({})
        user(address, U, insert=[(1, 1)])
        wrapper.capture(first.mark)  # and the process dies here
    with opened(address, U) as wrapper:
        user(address, U, insert=[(2, 2)])
        again = wrapper.capture(first.mark)
        assert sorted(flat(again), key=str) == edits(("+", (1, 1)), ("+", (2, 2)))
        assert flat(wrapper.capture(again.mark)) == []


def test_what_is_applied_is_there_once_and_is_no_edit(address: tuple[str, str]) -> None:
    with opened(address, U) as wrapper:
        mark = wrapper.capture({}).mark
        change = {"U": InstanceChange(inserted=[(2, 5), (2, C2), (4, None)])}
        wrapper.apply(change, 3)
        wrapper.apply({"U": InstanceChange(deleted=[(2, 5)])}, 3)  # the same version again: nothing
        assert wrapper.shown() == 3
        assert rows(address, U) == {(2, 5, None), (2, None, "?c(2)"), (4, None, None)}
        captured = wrapper.capture(mark)
        assert flat(captured) == []
        wrapper.apply({"U": InstanceChange(deleted=[(2, C2), (4, None)], inserted=[(2, 5)])}, 4)
        assert rows(address, U) == {(2, 5, None)}
        assert flat(wrapper.capture(captured.mark)) == []


def test_labelled_nulls_come_back_as_what_they_were(address: tuple[str, str]) -> None:
    with opened(address, U) as wrapper:
        wrapper.apply({"U": InstanceChange(inserted=[(2, C2), (3, LabelledNull("d", ("it's", 1.5)))])}, 1)
        found = flat(wrapper.capture({}))
    assert {edit.row for edit in found} == {(2, C2), (3, LabelledNull("d", ("it's", 1.5)))}


def test_what_users_do_and_nobody_captured_survives_an_application(address: tuple[str, str]) -> None:
    with opened(address, U) as wrapper:
        mark = wrapper.capture({}).mark
        user(address, U, insert=[(1, 1), (9, 9)])
        wrapper.apply({"U": InstanceChange(inserted=[(1, 1), (2, 2)])}, 1)
        captured = wrapper.capture(mark)
    assert sorted(flat(captured), key=str) == edits(("+", (1, 1)), ("+", (9, 9)))


def test_a_row_that_does_not_fit_is_refused_until_it_is_corrected(address: tuple[str, str]) -> None:
    """However it was captured meanwhile: rows that are not there any more are in nobody's way."""
    table = WrappedTable("V", "V", (WrappedColumn("x", INT, nullable=False), WrappedColumn("y", INT)))
    with opened(address, table) as wrapper:
        mark = wrapper.capture({}).mark
        user(address, table, insert=[(1, 2), (None, 3)])
        for _ in range(2):
            with pytest.raises(ExchangeError, match="takes no NULL") as caught:
                wrapper.capture(mark)
            assert caught.value.code == "bad-value"
        user(address, table, delete=[(None, 3)], insert=[(4, 3)])
        captured = wrapper.capture(mark)
        edits = [edit for each in captured.transactions for edit in each]
        assert sorted(edits, key=str) == [Edit("+", "V", (1, 2)), Edit("+", "V", (4, 3))]
        assert wrapper.capture(captured.mark).transactions == ()


def test_names_are_quoted_and_values_are_never_part_of_a_statement(address: tuple[str, str]) -> None:
    nasty = '\'; DROP TABLE "a"; -- %s :x \\ \u00e9\n'
    with opened(address, ODD, peer="a 'b' \"c\"") as wrapper:
        mark = wrapper.capture({}).mark
        row = (nasty, LabelledNull("f", (nasty,)))
        wrapper.apply({"odd": InstanceChange(inserted=[row, ("x", "y")])}, 1)
        assert flat(wrapper.capture({})) != []
        mark = wrapper.capture({}).mark
        if not address[0].startswith(("delta", "parquet")):
            user(address, ODD, insert=[(nasty, nasty)])
            assert flat(wrapper.capture(mark)) == edits(("+", (nasty, nasty)), relation="odd")
        wrapper.apply({"odd": InstanceChange(deleted=[row])}, 2)
        assert all(label is None for _, _, label in rows(address, ODD))
        assert ("x", "y", None) in rows(address, ODD)


TYPED = (
    ("i", "int", -(2**62)), ("f", "float", 1.5), ("s", "string", "é\x01'"), ("b", "bool", True),
    ("d", "date", datetime.date(2024, 2, 29)), ("y", "binary", b"\x00\xff"),
    ("m", "timestamp_ntz", datetime.datetime(2024, 2, 29, 12, 30, 0, 5)), ("n", "decimal(12,2)", Decimal("-10.50")),
    ("z", "timestamp", datetime.datetime(2024, 2, 29, 12, 30, tzinfo=datetime.timezone.utc)),
)  # fmt: skip


def test_values_of_all_types_round_trip(address: tuple[str, str]) -> None:
    columns = tuple(WrappedColumn(name, parse_type(kind), labelled=True) for name, kind, _ in TYPED)
    table = WrappedTable("typed", "typed", columns)
    row, empty = tuple(value for _, _, value in TYPED), (None,) * len(TYPED)
    with opened(address, table) as wrapper:
        mark = wrapper.capture({}).mark
        if address[1] == "decoding":  # through PostgreSQL's own text of each value
            engine = sa.create_engine(address[0])
            with engine.begin() as connection:
                names = [name for name, _, _ in TYPED]
                made = sa.table("typed", *[sa.column(name) for name in names])
                connection.execute(made.insert().values(dict(zip(names, row, strict=True))))
            engine.dispose()
            assert [edit.row for edit in flat(wrapper.capture(mark))] == [row]
            return
        wrapper.apply({"typed": InstanceChange(inserted=[row, empty])}, 1)
        found = {edit.row for edit in flat(wrapper.capture({}))}
        assert found == {row, empty}
        wrapper.apply({"typed": InstanceChange(deleted=[row, empty])}, 2)
        assert flat(wrapper.capture({})) == []


# A Delta table is made by us, or has the columns already.
@pytest.mark.parametrize("address", DATABASES, indirect=True)
def test_a_table_of_somebody_else_gets_columns_for_labels_and_keeps_the_rest(
    address: tuple[str, str],
) -> None:
    engine = sa.create_engine(address[0])
    with engine.begin() as connection:
        connection.exec_driver_sql('CREATE TABLE "U" ("nam" INTEGER, "can" INTEGER, "note" VARCHAR(20))')
        connection.exec_driver_sql("INSERT INTO \"U\" VALUES (2, 5, 'mine')")
    engine.dispose()
    with opened(address, U) as wrapper:
        assert flat(wrapper.capture({})) == edits(("+", (2, 5)))
        wrapper.apply({"U": InstanceChange(inserted=[(2, C2), (2, 5)])}, 1)
        assert rows(address, U) == {(2, 5, None), (2, None, "?c(2)")}


@pytest.mark.parametrize("address", DATABASES, indirect=True)
@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ('ALTER TABLE "U" RENAME COLUMN "can" TO "canonical"', "no column can"),
        ('DROP TABLE "U"', "gone"),
        (
            'DROP TABLE "U"; CREATE TABLE "U" ("nam" INTEGER, "can" VARCHAR(9), "can?" TEXT)',
            "its column can is VARCHAR",
        ),
    ],
)
def test_a_changed_table_is_refused_and_nothing_is_lost(
    address: tuple[str, str], statement: str, said: str
) -> None:
    with opened(address, U) as wrapper:
        mark = wrapper.capture({}).mark
        engine = sa.create_engine(address[0])
        with engine.begin() as connection:
            for one in statement.split("; "):
                connection.exec_driver_sql(one)
        engine.dispose()
        for use in (lambda: wrapper.capture(mark), lambda: wrapper.apply({"U": InstanceChange([(1, 1)])}, 1)):
            with pytest.raises(ExchangeError) as caught:
                use()
            assert caught.value.code == "schema-drift"
            assert said in caught.value.message
        assert wrapper.shown() == 0


def test_a_delta_table_with_another_column_is_refused(tmp_path: Any) -> None:
    address = (f"delta://{tmp_path}", "auto")
    with opened(address, U):
        pass
    other = WrappedTable("U", "U", (WrappedColumn("nam", INT), WrappedColumn("can", STRING, labelled=True)))
    with pytest.raises(ExchangeError, match="schema-drift"), opened(address, other) as wrapper:
        wrapper.capture({})


# Delta has no transactions over tables: each is done or not, and done again.
@pytest.mark.parametrize("address", DATABASES, indirect=True)
def test_an_application_that_fails_in_the_middle_leaves_nothing(address: tuple[str, str]) -> None:
    other = WrappedTable("V", "V", (WrappedColumn("x", INT),))
    with opened(address, U, other) as wrapper:
        mark = wrapper.capture({}).mark
        engine = sa.create_engine(address[0])
        with engine.begin() as connection:
            connection.exec_driver_sql('DROP TABLE "V"')
        engine.dispose()
        both = {"U": InstanceChange([(1, 1)]), "V": InstanceChange([(1,)])}
        with pytest.raises(ExchangeError):
            wrapper.apply(both, 1)
        assert rows(address, U) == set()
        assert wrapper.shown() == 0
        user(address, U, insert=[(5, 5)])  # capture is not paused for ever
        with pytest.raises(ExchangeError):
            wrapper.capture(mark)


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("sqlite:////nowhere/at/all/peer.db", "unreachable"),
        ("postgresql+psycopg://ann:secret@127.0.0.1:1/db?connect_timeout=2", "unreachable"),
        ("nosuch://x", "bad-source"),
    ],
)
def test_a_database_that_cannot_be_reached(url: str, code: str) -> None:
    with pytest.raises(ExchangeError) as caught:
        open_wrapper("uBio", url, [U])
    assert caught.value.code == code
    assert "secret" not in str(caught.value)


def test_missing_permission_is_said(postgres: Any) -> None:
    url = postgres.new_database()
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql('CREATE TABLE "U" ("nam" INTEGER, "can" INTEGER, "can?" TEXT)')
        connection.exec_driver_sql(
            "DO $$ BEGIN CREATE ROLE reader LOGIN; EXCEPTION WHEN OTHERS THEN NULL; END $$"
        )
        connection.exec_driver_sql('GRANT SELECT ON "U" TO reader')
    engine.dispose()
    database = url.partition("@/")[2].partition("?")[0]
    with pytest.raises(ExchangeError) as caught:
        open_wrapper("uBio", postgres.url(database, "reader"), [U])
    assert caught.value.code == "permission"


def test_users_without_rights_on_the_edit_log_are_captured_too(postgres: Any) -> None:
    url = postgres.new_database()
    address = (url, "auto")
    with opened(address, U) as wrapper:
        mark = wrapper.capture({}).mark
        engine = sa.create_engine(url)
        with engine.begin() as connection:
            connection.exec_driver_sql(
                "DO $$ BEGIN CREATE ROLE writer LOGIN; EXCEPTION WHEN OTHERS THEN NULL; END $$"
            )
            connection.exec_driver_sql('GRANT INSERT, SELECT ON "U" TO writer')
        engine.dispose()
        database = url.partition("@/")[2].partition("?")[0]
        user((postgres.url(database, "writer"), "auto"), U, insert=[(1, 2)])
        assert flat(wrapper.capture(mark)) == edits(("+", (1, 2)))


def test_truncate_is_captured_by_triggers(postgres: Any) -> None:
    address = (postgres.new_database(), "auto")
    with opened(address, U) as wrapper:
        user(address, U, insert=[(1, 2), (3, 4)])
        mark = wrapper.capture({}).mark
        engine = sa.create_engine(address[0])
        with engine.begin() as connection:
            connection.exec_driver_sql('TRUNCATE "U"')
        engine.dispose()
        found = flat(wrapper.capture(mark))
    assert sorted(found, key=str) == edits(("-", (1, 2)), ("-", (3, 4)))


@pytest.mark.parametrize("capture", ["triggers", "decoding"])
def test_transactions_of_users_are_told_apart(postgres: Any, capture: str) -> None:
    address = (postgres.new_database(), capture)
    with opened(address, U) as wrapper:
        mark = wrapper.capture({}).mark
        user(address, U, insert=[(1, 1), (1, 2)])
        user(address, U, insert=[(2, 1)], delete=[(1, 1)])
        found = wrapper.capture(mark)
    assert [len(transaction) for transaction in found.transactions] == [2, 2]
    assert found.transactions[1] == (Edit("-", "U", (1, 1)), Edit("+", "U", (2, 1)))


steps = st.lists(
    st.tuples(
        st.sampled_from(["user", "apply", "capture", "lost capture"]),
        st.sets(st.tuples(st.integers(0, 2), st.one_of(st.none(), st.integers(0, 1))), max_size=3),
        st.sets(st.tuples(st.integers(0, 2), st.one_of(st.none(), st.integers(0, 1))), max_size=3),
    ),
    max_size=12,
)


@settings(max_examples=int(os.environ.get("HEADWATER_ORACLE_EXAMPLES", "25")))
@given(steps)
def test_random_edits_and_applications_against_a_model(stream: list[Any]) -> None:
    """The model: edits by hand; each is captured once, in order, and the tables hold what was done to them."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        address = (f"sqlite:///{folder}/peer.db", "auto")
        with opened(address, U) as wrapper:
            mark = wrapper.capture({}).mark
            expected: list[Edit] = []
            there: set[tuple[Any, ...]] = set()
            version = 0
            for what, come, go in stream:
                if what == "user":
                    gone, new = (
                        [row for row in go if row in there],
                        [row for row in come if row not in there | go],
                    )
                    user(address, U, insert=sorted(new, key=str), delete=sorted(gone, key=str))
                    expected += edits(
                        *[("-", r) for r in sorted(gone, key=str)], *[("+", r) for r in sorted(new, key=str)]
                    )
                    there = (there - set(gone)) | set(new)
                elif what == "apply":
                    version += 1
                    wrapper.apply({"U": InstanceChange(list(come), list(go))}, version)
                    there = (there - go) | come
                else:
                    captured = wrapper.capture(mark)
                    assert flat(captured) == expected
                    if what == "capture":
                        mark, expected = captured.mark, []
                assert {row[:2] for row in rows(address, U)} == there

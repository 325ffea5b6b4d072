"""Files and tables that lie: each is refused with an error of ours, or read; none ends the process.

`HEADWATER_FUZZ=2000 python -m pytest tests/files/test_files_damage.py` reads so many damaged files of each kind.
"""

import datetime
import gzip
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import fuzz_files
import pyarrow as pa
import pytest
from fuzz_files import COLUMNS, damaged, originals, rows_of

import headwater
from headwater.errors import DataError
from headwater.files.list_cells import MOST_NESTED
from headwater.values.codec import Codec
from headwater.values.types import DATE, STRING, TIMESTAMP, list_of

EACH = int(os.environ.get("HEADWATER_FUZZ", "40"))
FILES = originals()


def in_a_child(*args: object) -> subprocess.CompletedProcess[str]:
    source = str(Path(headwater.__path__[0]).parent)
    return subprocess.run(
        [sys.executable, fuzz_files.__file__, *map(str, args)],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("name", FILES)
def test_what_is_not_damaged_is_read(tmp_path: Path, name: str):
    path = tmp_path / name
    path.write_bytes(FILES[name])
    assert len(rows_of(path)) > 1


def test_damaged_files_are_refused_or_read():
    done = in_a_child(0, EACH)
    said = done.stdout.splitlines()
    assert done.returncode == 0, [line for line in said if line.startswith("foreign")] or said[-1]
    assert sum(line.startswith("case") for line in said) == EACH * len(FILES)


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("plain.arrow", 258),  # offsets that point out of the buffer: the process died
        ("stream.arrow", 776),
        ("zstd.arrow", 1554),
        ("wide.arrow", 39),
        ("wide.parquet", 1099),  # a time zone that is no text
    ],
)
def test_files_that_were_once_believed(name: str, number: int):
    done = in_a_child(number, 1, name)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


def test_every_file_cut_short_is_refused_or_read(tmp_path: Path):
    for name, good in FILES.items():
        path = tmp_path / name
        for size in {*range(16), *range(16, len(good), len(good) // 20), len(good) - 1}:
            path.write_bytes(good[:size])
            try:
                rows = rows_of(path)
            except DataError as error:
                assert str(path) in error.message, error
            else:
                assert all(len(row) == len(COLUMNS) for row in rows)


def test_damage_has_no_chance_to_be_the_same_file():
    """The generator damages: nearly every file it makes differs from the good one."""
    same = sum(damaged(name, number, good) == good for name, good in FILES.items() for number in range(20))
    assert same < len(FILES)


def test_lists_nested_without_end(tmp_path: Path):
    path = tmp_path / "r.facts"
    depth = MOST_NESTED + 1
    path.write_text("1\t1.5\ta\ttrue\t2024-02-29\t2024-02-29T12:30:00\t" + "[" * depth + "]" * depth + "\n")
    with pytest.raises(DataError, match="more than 100 deep"):
        rows_of(path)


def test_json_nested_without_end_and_numbers_without_end(tmp_path: Path):
    path = tmp_path / "r.json"
    for text, what in (("[" * 100_000, "nested too deeply"), ("[[" + "9" * 5000 + "]]", "too many digits")):
        path.write_text(text)
        with pytest.raises(DataError, match=what):
            rows_of(path)


def test_a_file_that_unpacks_to_more_than_memory_holds(tmp_path: Path):
    path = tmp_path / "packed.csv.gz"
    path.write_bytes(gzip.compress(bytes(1 << 20)) * 4096)  # 4 GiB of zeros in 4 MiB
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import fuzz_files; fuzz_files.bound_memory(3 << 30); "
    )
    code += "fuzz_files.rows_of(fuzz_files.Path(sys.argv[2]))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(Path(__file__).parent), str(path)],
        env={**os.environ, "PYTHONPATH": str(Path(headwater.__path__[0]).parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "DataError: error[unreadable]" in done.stderr and "memory" in done.stderr


# ------------------------------------------------------------------ tables that users give


def lying(buffers: list[Any], type: Any, length: int) -> Any:
    return pa.table({"x": pa.Array.from_buffers(type, length, buffers)})


def ints(*values: int) -> Any:
    return pa.py_buffer(b"".join(value.to_bytes(4, "little", signed=True) for value in values))


@pytest.mark.parametrize(
    "table",
    [
        lying([None, ints(0, 1 << 30, 1), pa.py_buffer(b"a")], pa.string(), 2),
        lying([None, ints(0, -5, 1), pa.py_buffer(b"a")], pa.string(), 2),
        lying([None, ints(0, 1), pa.py_buffer(b"\xff")], pa.string(), 1),
        pa.table({"x": pa.DictionaryArray.from_arrays(pa.array([0, 99], pa.int32()), ["a"], safe=False)}),
    ],
    ids=["offset out of the buffer", "offsets that go back", "not UTF-8", "index out of the dictionary"],
)
def test_a_table_whose_buffers_lie_is_refused(table: Any):
    for ask in (
        lambda: Codec().to_matrix(table, (STRING,), "r", ("x",)),
        lambda: Codec().find_rows(table, (STRING,), relation="r", columns=("x",)),
        lambda: Codec().infer_types(table, "r"),
    ):
        with pytest.raises(DataError, match="rows of r cannot be read from") as caught:
            ask()
        assert caught.value.code == "unreadable"


def test_what_is_no_table_is_refused():
    for what in (pa.array([1]), pa.scalar(1), pa.schema([])):
        with pytest.raises(DataError, match="rows of r cannot be read from"):
            Codec().to_matrix(what, (STRING,), "r", ("x",))


def test_days_that_python_does_not_have():
    far = pa.array([0, 10**7], pa.date32())
    nested = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), far)
    for column, type in ((far, DATE), (far, STRING), (nested, list_of(DATE)), (nested, STRING)):
        with pytest.raises(DataError, match="row 2"):
            Codec().to_matrix(pa.table({"x": column}), (type,), "r", ("x",))


def test_an_unknown_time_zone_is_only_a_name():
    moments = pa.array([0, None], pa.timestamp("us", "Nowhere/Town"))
    row = Codec()
    matrix = row.to_matrix(pa.table({"x": moments.slice(0, 1)}), (TIMESTAMP,), "r", ("x",))
    assert row.decode_rows(matrix, (TIMESTAMP,)) == [
        (datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc),)
    ]
    assert Codec().infer_types(pa.table({"x": moments}))[0] == (TIMESTAMP,)

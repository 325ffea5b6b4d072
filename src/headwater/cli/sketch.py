"""`headwater sketch`: queries over tables that read less, from the folder that keeps their sketches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headwater.wording import counted

if TYPE_CHECKING:
    from headwater.sketch.sketches import Sketches

state_argument = click.argument("state", type=click.Path(file_okay=False, path_type=Path))
sql_argument = click.argument("text", metavar="SQL")


@click.group()
def sketch() -> None:
    """Provenance sketches: queries over tables of Spark or a database, asked again, read what they rest on.

    \b
    Examples:
      headwater sketch table state/ sales tables/sales --format delta --partition price
      headwater sketch sql state/ 'SELECT brand, sum(price) AS s FROM sales GROUP BY brand HAVING sum(price) > 9000'
      headwater sketch list state/
    """


@contextmanager
def opened(state: Path, backend: str | None = None) -> Iterator[Sketches]:
    """The sketches of a folder, on the backend that it was made for (default: Spark in this process)."""
    import headwater as hw
    from headwater.spark.session import stop_embedded

    backend = backend if backend is not None else _backend_of(state)
    if backend not in (None, "spark"):
        with hw.sketches(str(backend), state) as sketches:
            yield sketches
        return
    session = hw.spark_session()
    try:
        with hw.sketches(session, state) as sketches:
            yield sketches
    finally:
        stop_embedded(session)


def _backend_of(state: Path) -> str | None:
    """What a folder was made for; a folder in which no table was named is refused before Spark starts."""
    import json

    from headwater.errors import SketchError

    file = state / "tables.json"
    try:
        said = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        return None  # those who read it know better what is wrong with it
    except OSError as error:
        raise SketchError(
            "missing-source",
            f"no tables were named in {state}",
            hint=f"headwater sketch table {state} NAME PATH, or with --database URL",
        ) from error
    return said.get("backend") if isinstance(said, dict) else None


def _refuse_missing(path: str, kind: str) -> None:
    """Refuse a path without a table of that kind before Spark starts; what is not on this machine Spark looks for."""
    from headwater.errors import SketchError

    if path.partition(":")[0].partition("+")[0] in ("duckdb", "postgresql", "postgres", "sqlite", "mysql"):
        raise SketchError(
            "missing-source", f"{path} is a database, not a table of Spark", hint=f"--database {path}"
        )
    if kind == "table" or "://" in path:
        return
    place = Path(path)
    try:
        there = (place / "_delta_log").is_dir() if kind == "delta" else place.is_dir()
    except (OSError, ValueError):
        there = False
    if not there:
        raise SketchError(
            "missing-source",
            f"there is no {kind} table at {path}",
            hint="is the path right, and the --format?",
        )


def _refuse_missing_database(address: str) -> None:
    """Refuse a file that is not there: DuckDB would make one, and there is no table in it."""
    from headwater.errors import SketchError

    kind, _, file = address.partition(":///")
    file = file.partition("?")[0]
    if kind == "duckdb" and file and not file.startswith(":") and not Path(file).exists():
        raise SketchError("missing-source", f"there is no database at {file}", hint="is the path right?")


@sketch.command()
@state_argument
@click.argument("name")
@click.argument("path", required=False)
@click.option(
    "--format", "kind", type=click.Choice(["delta", "parquet", "table"]), default="delta", show_default=True,
    help="Of PATH; of a table of Spark's catalog, PATH is its name.",
)  # fmt: skip
@click.option("--database", metavar="URL", help="A table of this database: duckdb:///file, postgresql://...")
@click.option("--partition", metavar="COLUMN", help="The attribute to sketch it by (default: advised).")
@click.option("--ranges", type=click.IntRange(min=1), default=1000, show_default=True, help="So many ranges.")
def table(
    state: Path,
    name: str,
    path: str | None,
    kind: str,
    database: str | None,
    partition: str | None,
    ranges: int,
) -> None:
    """Name a table for the queries of STATE: a path of Spark's, or a table of a database."""
    if database is None and not (state / "tables.json").exists():
        database = "spark"
    if database == "spark" or (database is None and _backend_of(state) == "spark"):
        _refuse_missing(path or name, kind)
    elif database is not None:
        _refuse_missing_database(database)
    with opened(state, database) as sketches:
        sketches.table(name, path, kind, partition=partition, ranges=ranges)
        columns = sketches.backend.schemas()[name].columns
        click.echo(f"{name}: {', '.join(f'{column.name} {column.type}' for column in columns)}")


@sketch.command()
@state_argument
@sql_argument
@click.option("--way", type=click.Choice(["plain", "capture", "use", "maintain"]), help="Answer it this way.")
@click.option(
    "--limit",
    type=click.IntRange(min=0, max=2**62),
    default=20,
    show_default=True,
    help="Print so many rows.",
)
def sql(state: Path, text: str, way: str | None, limit: int) -> None:
    """Answer a query; what was decided about it goes to standard error."""
    from headwater.cli.outcome import note

    with opened(state) as sketches:
        answer = sketches.ask(text, way=way)
        click.echo("\t".join(answer.rows.column_names))
        for row in answer.rows.slice(0, limit).to_pylist():
            click.echo("\t".join("NULL" if value is None else str(value) for value in row.values()))
        note(f"{counted(answer.rows.num_rows, 'row')}; {answer.decision}")


@sketch.command("list")
@state_argument
def list_queries(state: Path) -> None:
    """Show the queries of STATE and their sketches."""
    from headwater.sketch.kept import KeptState

    _backend_of(state)  # refuses a folder in which no table was named
    with closing(KeptState(state)) as folder:  # without the backend, which may take long to start
        for kept in folder.queries():
            said = kept.refused or "no sketch"
            if kept.newest is not None:
                at = ", ".join(
                    f"{table} at {version}" for table, version in sorted(kept.newest.versions.items())
                )
                said = f"{kept.newest} ({at}; {counted(len(kept.sketches), 'version')})"
            click.echo(f"{kept.name}  asked {kept.asked}×  {said}\n    {' '.join(kept.text.split())}")


@sketch.command()
@state_argument
@sql_argument
def explain(state: Path, text: str) -> None:
    """Whether a sketch is safe for a query and why, what is kept of it, and what would be done."""
    with opened(state) as sketches:
        click.echo(sketches.explain(text))


@sketch.command()
@state_argument
@sql_argument
def advise(state: Path, text: str) -> None:
    """Attributes to sketch the tables of a query by, the best first."""
    with opened(state) as sketches:
        for each in sketches.advise(text):
            click.echo(str(each))


@sketch.command()
@state_argument
@click.argument("name", required=False)
def maintain(state: Path, name: str | None) -> None:
    """Bring the sketches of a query (default: of all) to the newest versions of their tables."""
    with opened(state) as sketches:
        for query, decision in sketches.maintain(name).items():
            click.echo(f"{query}  {decision}")


@sketch.command()
@state_argument
@click.argument("name")
def drop(state: Path, name: str) -> None:
    """Forget the sketches of a query."""
    with opened(state) as sketches:
        sketches.drop(name)


@sketch.command()
@state_argument
@click.argument("name")
@click.argument("column")
@click.option(
    "--files", type=click.IntRange(min=1), default=16, show_default=True, help="Into so many files."
)
def cluster(state: Path, name: str, column: str, files: int) -> None:
    """Sort the table NAME by COLUMN, so that sketches by it let readers skip files."""
    with opened(state) as sketches:
        version = sketches.cluster(name, column, files=files)
        click.echo(f"{name} is sorted by {column} (version {version})")

"""`headwater exchange`: peers of a confederation, from its file: edit, publish, update, and see where they stand."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from headwater.exchange.peer import Peer
    from headwater.exchange.report import UpdateReport

file_argument = click.argument(
    "file", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE.toml"
)
peer_argument = click.argument("peer")
limit_option = click.option(
    "--limit", type=click.IntRange(min=0), default=20, show_default=True, help="Print so many rows each."
)
EXAMPLE = """\
# Three databases of taxa (Green et al., Update Exchange with Mappings and Provenance, 2007). Try:
#   headwater exchange edit {name} GUS --insert 'G(3, 5, 2)'
#   headwater exchange publish {name}
#   headwater exchange update {name} BioSQL
#   headwater exchange why {name} BioSQL 'B(3, 2)'

state = "{stem}-state"      # where peers of this machine live, and what they publish, unless logs says otherwise
# logs = "s3://bucket/logs" # a shared folder, a database or an object store: peers on several machines share it

mappings = '''
m1: G(i, c, n) -> B(i, n).
m2: G(i, c, n) -> U(n, c).
m3: B(i, n) -> exists c U(n, c).
m4: B(i, c), U(n, c) -> B(i, n).
'''

[peer.GUS]
relations.G = "id: int, can: int, nam: int"

[peer.BioSQL]
relations.B = "id: int, nam: int"
database = "sqlite:///{stem}-biosql.db"   # its users see and edit B there; any address of SQLAlchemy's, or delta://folder
# trust = "distrust B(i, n) from GUS if n >= 3."

[peer.uBio]
relations.U = "nam: int, can: int"
"""


@click.group()
def exchange() -> None:
    """Peers who share data, map it to each other's schemas, and trust some of it.

    \b
    Examples:
      headwater exchange init bio.toml
      headwater exchange edit bio.toml GUS --insert 'G(3, 5, 2)'
      headwater exchange publish bio.toml
      headwater exchange update bio.toml BioSQL --dry-run
    """


@exchange.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE.toml")
@click.argument("peers", nargs=-1, metavar="[PEER]...")
def init(file: Path, peers: tuple[str, ...]) -> None:
    """Prepare the PEERs of a confederation (default: all): their folders, tables and what is in these.

    Without the file, it is written first: an example with three peers. Rows that are in a peer's tables already
    become its contributions; tables that are missing are made. Doing it twice does no harm.
    """
    from headwater.cli.outcome import note
    from headwater.cli.peers import opened, print_status
    from headwater.values.arguments import text

    if not file.exists():
        text("FILE.toml", str(file))
        file.write_text(EXAMPLE.format(name=file.name, stem=file.stem), encoding="utf-8")
        note(f"wrote an example to {file}")
    with opened(file) as confederation:
        for name in peers or tuple(confederation):
            confederation[name].capture()
        print_status(confederation, peers)


@exchange.command()
@file_argument
@peer_argument
@click.option("--insert", multiple=True, metavar="ROW", help="A row that comes: 'B(3, 5)'.")
@click.option("--delete", multiple=True, metavar="ROW", help="A row that goes, or is rejected from now on.")
@click.option("--reinstate", multiple=True, metavar="ROW", help="A rejected row that others may bring again.")
@click.option("--depends", multiple=True, metavar="TRANSACTION", help="What others must have first: 'GUS:3'.")
def edit(
    file: Path,
    peer: str,
    insert: tuple[str, ...],
    delete: tuple[str, ...],
    reinstate: tuple[str, ...],
    depends: tuple[str, ...],
) -> None:
    """Edit relations of PEER, deletes first: one transaction. Others see it once it is published.

    \b
    Examples:
      headwater exchange edit bio.toml BioSQL --insert 'B(3, 5)'
      headwater exchange edit bio.toml BioSQL --delete 'B(3, 2)'
      headwater exchange edit bio.toml BioSQL --reinstate 'B(3, 2)'
      headwater exchange edit bio.toml uBio --insert 'U(2, 5). U(3, 5)' --depends GUS:1
    """
    from headwater.cli.peers import opened, rows_by_relation

    if not (insert or delete or reinstate):
        raise click.UsageError("nothing to edit: give --insert, --delete or --reinstate")
    with opened(file) as confederation:
        found = confederation[peer]
        come, go = rows_by_relation(found, "--insert", insert), rows_by_relation(found, "--delete", delete)
        again = rows_by_relation(found, "--reinstate", reinstate)
        click.echo(found.edit(come, go, reinstate=again, depends=depends))


@exchange.command()
@file_argument
@click.argument("peers", nargs=-1, metavar="[PEER]...")
def publish(file: Path, peers: tuple[str, ...]) -> None:
    """Let others have what the PEERs (default: all) edited, here and in their databases, since the last time."""
    from headwater.cli.peers import opened
    from headwater.wording import counted

    with opened(file) as confederation:
        for name in peers or tuple(confederation):
            done = confederation[name].publish()
            last = f", up to {done[-1]}" if done else ""
            click.echo(f"{name} published {counted(len(done), 'transaction')}{last}")


@exchange.command()
@file_argument
@click.argument("peers", nargs=-1, metavar="[PEER]...")
@click.option("--dry-run", is_flag=True, help="Print what would change, and change nothing.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@limit_option
def update(file: Path, peers: tuple[str, ...], dry_run: bool, yes: bool, limit: int) -> None:
    """Take on what others published since the last time, in each PEER (default: all).

    Prints first how its relations would differ, and asks. Its own database, if it has one, follows in one
    transaction.

    \b
    Examples:
      headwater exchange update bio.toml BioSQL --dry-run
      headwater exchange update bio.toml BioSQL
    """
    from headwater.cli.peers import opened, print_update

    with opened(file) as confederation:
        for name in peers or tuple(confederation):
            peer = confederation[name]
            preview = peer.preview()
            print_update(preview, limit)
            if preview.transactions and not dry_run and _agreed(yes, preview):
                report = peer.update()
                click.echo(f"{name} took {_transactions(report)}", err=True)
            elif not dry_run:
                peer.update()  # users may have edited its database


def _agreed(yes: bool, preview: UpdateReport) -> bool:
    from headwater.errors import DataError

    if yes:
        return True
    if not sys.stdin.isatty():
        raise DataError(
            "not-confirmed",
            "nothing was changed: there is no terminal to ask whether to apply this",
            hint="--yes applies it, --dry-run only prints it",
        )
    if not click.confirm(f"Let {preview.peer} take this?", default=False, err=True):
        click.echo("nothing was changed", err=True)
        raise click.exceptions.Exit(1)
    return True


def _transactions(report: UpdateReport) -> str:
    from headwater.wording import counted

    return counted(len(report.transactions), "transaction")


@exchange.command()
@file_argument
@click.argument("peers", nargs=-1, metavar="[PEER]...")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def status(file: Path, peers: tuple[str, ...], as_json: bool) -> None:
    """Where the PEERs (default: all) stand: rows, what is not published, and what others published since."""
    import json

    from headwater.cli.peers import opened, print_status, status_of

    with opened(file) as confederation:
        if as_json:
            click.echo(json.dumps([status_of(confederation, name) for name in peers or tuple(confederation)]))
        else:
            print_status(confederation, peers)


@exchange.command()
@file_argument
@peer_argument
@click.argument("relation")
@click.option("--nulls", is_flag=True, help="Also rows with values that nobody knows.")
@limit_option
def show(file: Path, peer: str, relation: str, nulls: bool, limit: int) -> None:
    """Print a RELATION as PEER has it: the certain rows; with --nulls, all."""
    from headwater.cli.peers import opened, print_rows

    with opened(file) as confederation:
        print_rows(confederation[peer][relation], nulls, limit)


@exchange.command()
@file_argument
@peer_argument
@click.argument("row")
def why(file: Path, peer: str, row: str) -> None:
    """Say why ROW, such as 'B(3, 2)', is at PEER: its provenance, and who contributed what it rests on.

    Of a row that is not there, say what keeps it out."""
    from headwater.cli.peers import one_row, opened
    from headwater.errors import DataError

    with opened(file) as confederation:
        found = confederation[peer]
        relation, asked = one_row(found, row)
        rejected = found.why_rejected(relation, asked)
        if not rejected.there:
            click.echo(str(rejected))
            raise DataError("no-such-row", f"{row} is not there")
        click.echo(str(found.why(relation, asked)))


@exchange.command()
@file_argument
@peer_argument
@click.argument("conditions", nargs=-1)
@click.option("--remove", multiple=True, metavar="CONDITION", help="A condition to take back.")
def trust(file: Path, peer: str, conditions: tuple[str, ...], remove: tuple[str, ...]) -> None:
    """State trust CONDITIONS of PEER, take others back, and print those that hold then.

    \b
    Examples:
      headwater exchange trust bio.toml BioSQL
      headwater exchange trust bio.toml BioSQL 'distrust from uBio.'
      headwater exchange trust bio.toml BioSQL 'trust from uBio confidence 0.5. distrust below confidence 0.7.'
      headwater exchange trust bio.toml BioSQL --remove 'distrust from uBio.'
    """
    from headwater.cli.peers import opened

    with opened(file) as confederation:
        found: Peer = confederation[peer]
        held = found.trust("\n".join(conditions), remove="\n".join(remove))
        for text in held:
            click.echo(text)
        if not held:
            click.echo(f"{peer} trusts everything", err=True)


@exchange.command()
@file_argument
@peer_argument
def conflicts(file: Path, peer: str) -> None:
    """Rows of PEER that agree in a key and cannot all be true, what was decided, and what is left to resolve."""
    from headwater.cli.peers import opened
    from headwater.wording import counted

    with opened(file) as confederation:
        found = confederation[peer].conflicts
        for conflict in found:
            click.secho(str(conflict), fg="yellow" if conflict.dirty else None)
        for clash in confederation[peer].clashes:
            click.secho(str(clash), fg="yellow")
        dirty = sum(conflict.dirty for conflict in found)
        click.echo(f"{counted(len(found), 'conflict')}, {dirty} to be resolved", err=True)


@exchange.command()
@file_argument
@peer_argument
@click.option("--keep", metavar="ROW", help="Keep this row, and reject its rivals.")
@click.option("--reject", multiple=True, metavar="ROW", help="Reject this row; may be repeated.")
def resolve(file: Path, peer: str, keep: str | None, reject: tuple[str, ...]) -> None:
    """Resolve a conflict of PEER. This is an edit: it is published, and taken back by inserting what was rejected.

    \b
    Examples:
      headwater exchange resolve bio.toml BioSQL --keep 'B(3, 5)'
      headwater exchange resolve bio.toml BioSQL --reject 'B(3, 2)'
    """
    from headwater.cli.peers import one_row, opened, rows_by_relation

    if keep is None and not reject:
        raise click.UsageError("nothing to resolve: give --keep or --reject")
    with opened(file) as confederation:
        found = confederation[peer]
        rejected = rows_by_relation(found, "--reject", reject)
        relation, kept = (None, None) if keep is None else one_row(found, keep)
        if len({*rejected, *([relation] if relation else [])}) != 1:
            raise click.UsageError("give rows of one relation")
        name = relation or next(iter(rejected))
        click.echo(found.resolve(name, kept, reject=rejected.get(name, ())))

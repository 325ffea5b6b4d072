"""`python -m headwater.demo`: the demo from beginning to end."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from time import perf_counter

from rich.console import Console

from headwater.demo.acting import act
from headwater.demo.asking import NODE, ask, leave_out_costs
from headwater.demo.contenders import HeadwaterViews, others
from headwater.demo.crash import kill_and_reopen
from headwater.demo.exchanging import exchange_names
from headwater.demo.measure import compare, follow
from headwater.demo.networking import route_packets
from headwater.demo.picture import draw
from headwater.demo.report import DemoReport
from headwater.demo.scenario import VIEWS, failures, network
from headwater.demo.sketching import SketchedQuery, sketch_measurements
from headwater.demo.through_spark import ThroughSpark
from headwater.demo.witness import enclosure, route
from headwater.errors import MissingExtra


def main() -> None:
    """Run all chapters; exit with an error if any view was wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m headwater.demo", description="What Headwater does, in a minute."
    )
    parser.add_argument("--seed", type=int, default=1, help="draws another network")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="write what was measured as an SVG")
    options = parser.parse_args()
    started = perf_counter()
    report = DemoReport(Console(highlight=False))
    topology = network(options.seed)
    stub, transit, node = failures(topology)

    report.opening()
    report.network(topology)
    files = tempfile.TemporaryDirectory()
    report.starting_spark()
    try:
        spark = ThroughSpark(Path(files.name), topology)
        report.spark_started(spark.started, spark.java)
    except MissingExtra as error:
        spark = None
        report.no_spark(error)
    report.rules()
    ours = HeadwaterViews("HeadwaterViews", "support")
    rivals = others()
    loading: dict[str, float] = {}
    for contender in (ours, *rivals):
        begun = perf_counter()
        if contender is ours and spark is not None:
            report.read_by_spark(*spark.load(ours.database))
            loading[contender.name] = ours.database.statistics.seconds
        else:
            contender.change((), topology.rows())
            loading[contender.name] = perf_counter() - begun
    compared = compare(ours, rivals)
    report.loaded(loading, {view: len(ours.database[view]) for view in VIEWS})

    outcomes = []
    for failure in (stub, transit, node):
        outcomes += follow(failure, ours, rivals)
        compared += sum(outcome.compared for outcome in outcomes[-2:])
    report.changed(outcomes)
    report.cost(outcomes, compared)

    pair = min((x, y) for x, y, _ in outcomes[2].changes["cheapest"].inserted if len(x) == len(y) == 4)
    before = route(ours.database, *pair)
    ours.change(transit.rows, ())
    after = route(ours.database, *pair)
    explanation = ours.database.explain("cheapest")
    ours.change((), transit.rows)
    report.why(pair, before, transit.links[0], after)

    ours.change(node.rows, ())
    found = enclosure(ours.database, "t0a0", node.links)
    ours.change((), node.rows)
    report.why_not("t0a0", "t2a0", "t2", found)
    report.explained(explanation)

    asked = ask(topology)
    report.asked(asked, right=asked.nodes == {y for x, y in ours.rows("reach") if x == NODE})
    report.unknown(leave_out_costs(topology))
    acted = act(topology, node.rows)
    report.acted(acted, right=acted.lost == set(outcomes[4].changes["reach"].deleted))

    names = exchange_names()
    report.exchanged(names)
    networked = route_packets()
    report.networked(networked)
    sketched: SketchedQuery | None = None
    try:
        sketched = sketch_measurements(options.seed)
        report.sketched(sketched)
    except (ImportError, MissingExtra) as error:
        report.no_sketches(error)

    if spark is not None:
        report.through_spark()
        report.turns(list(spark.turns(ours.database, transit)))
        same = {view: spark.folded(view) == ours.rows(view) for view in VIEWS}
        report.folded(same, {view: len(ours.database[view]) for view in VIEWS})
        spark.close()
        if not all(same.values()):
            raise SystemExit("the feeds do not give the views: this is a bug in Headwater")
    files.cleanup()

    with tempfile.TemporaryDirectory() as folder:
        recovery = kill_and_reopen(Path(folder) / "state", options.seed)
    report.recovered(recovery)
    report.closing(perf_counter() - started)
    if options.picture is not None:
        options.picture.write_text(
            draw(topology, outcomes, transit.links[0], before, after), encoding="utf-8"
        )
    if sketched is not None and not sketched.right:
        raise SystemExit("an answer over a sketch is not the plain one: this is a bug in Headwater")
    if not networked.right:
        raise SystemExit("routers have other costs than Dijkstra: this is a bug in Headwater")
    if not names.right:
        raise SystemExit("a peer has other rows than it should: this is a bug in Headwater")
    if not (recovery.links_right and recovery.views_right and recovery.found >= recovery.acknowledged):
        raise SystemExit("the state that was found is wrong: this is a bug in Headwater")


if __name__ == "__main__":
    main()

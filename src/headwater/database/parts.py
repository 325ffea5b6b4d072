"""What a database is composed of, put together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from headwater.catalog import Catalog
from headwater.database.durability import Durability
from headwater.database.outbox import Outbox
from headwater.database.progress import Progress
from headwater.database.questioned import Questioned
from headwater.database.running import Running
from headwater.database.standing import Followers, Standing
from headwater.database.versions import Versions
from headwater.database.watch_keeper import WatchKeeper
from headwater.options import Options
from headwater.values.codec import Codec
from headwater.values.functions import Functions
from headwater.version.guard import Guard


@dataclass(frozen=True)
class Parts:
    """Where it stands, what sources and subscribers know, the disk, followers, versions, where relations are,
    who watches, and whom questions are asked."""

    standing: Standing
    progress: Progress
    durability: Durability
    followers: Followers
    versions: Versions
    running: Running
    watching: WatchKeeper
    questioned: Questioned
    anew: Callable[[], Parts]
    """Other parts for the same database, started where its folder stands by then."""

    @staticmethod
    def of(path: Path | None, options: Options, codec: Codec, functions: Functions, guard: Guard) -> Parts:
        """The parts of a database that is not started yet."""
        standing = Standing(Catalog(functions, options.strict), real_time=options.clock == "real")
        progress, followers = Progress(path), Followers()
        outbox = Outbox(codec, path, sync=options.sync)
        durability = Durability(codec, standing, progress, outbox)
        versions = Versions(
            codec, guard, standing, progress, outbox, durability, followers, options.max_cascade
        )
        running = Running(options, codec, functions, versions, durability)
        durable = path is not None and options.mode == "w"
        watching = WatchKeeper(versions, running, options, guard, durable)

        def anew() -> Parts:
            found = Parts.of(path, replace(options, version=None), codec, functions, guard)
            try:
                found.running.start(path)
            except BaseException:
                found.running.close()
                raise
            return found

        questioned = Questioned(versions, standing)
        return Parts(standing, progress, durability, followers, versions, running, watching, questioned, anew)

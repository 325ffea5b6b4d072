"""What of a database's program runs on a node; it takes part in versions, together with the exchange."""

from __future__ import annotations

from headwater.nodes.exchange import NodeExchange
from headwater.rules.checked import RelationInfo, described
from headwater.rules.placement import Localised, Placement
from headwater.version.version import Version


class LocalProgram:
    """The program that a node goes by."""

    def __init__(self, exchange: NodeExchange):
        self._exchange = exchange
        self._program: Localised | None = None
        self._before: tuple[Localised | None] | None = None
        self.spoken: dict[str, tuple[RelationInfo, Placement | None]] = {}
        """The relations that the last version can speak of, and where they live: also those that it took away."""

    @property
    def program(self) -> Localised:
        assert self._program is not None
        return self._program

    def become(self, version: Version, program: Localised) -> set[str]:
        """Go by another program; return the views that live elsewhere from now on, to be derived again there."""
        version.join(self)
        homes = {} if self._program is None else self._program.homes
        if self._before is None:
            self._before = (self._program,)
        self._program = program
        self._exchange.use(program, self._before[0])
        self._speak(self._before[0], program)
        return {name for name, home in program.homes.items() if homes.get(name, home) != home}

    def _speak(self, before: Localised | None, now: Localised | None) -> None:
        programs = [program for program in (before, now) if program is not None]
        homes = {name: home for program in programs for name, home in program.homes.items()}
        infos: dict[str, RelationInfo] = {}
        for program in programs:
            infos = described(infos, program.checked.relations)
        self.spoken = {name: (info, homes.get(name)) for name, info in infos.items()}

    def commit(self, version: Version) -> None:
        """Keep it, and what was learned of the other nodes."""
        self._exchange.commit()
        self._before = None

    def rollback(self) -> None:
        """Go by what was before."""
        self._exchange.rollback()
        if self._before is not None:
            (self._program,), self._before = self._before, None
            self._exchange.use(self._program)
            self._speak(None, self._program)

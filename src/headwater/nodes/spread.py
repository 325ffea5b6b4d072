"""What the driver knows about where rows live: definitions, homes, sizes; and which node gets which rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from headwater.catalog.definitions import Definitions
from headwater.errors import StoreError
from headwater.nodes.messages.versions import ProgramText
from headwater.nodes.owners import Owners
from headwater.plan.steps import Ints
from headwater.rules.checked import Checked
from headwater.rules.kinds import refuse_watched
from headwater.rules.localise import choose_homes, localise
from headwater.rules.placement import EVERYWHERE, ONE, Localised, Placement

REPLICATE = 100_000
"""Base relations of up to this many rows are on every node."""


@dataclass(frozen=True)
class Spread:
    """Definitions, the program as written and as it runs on nodes, and the rows of each base relation."""

    definitions: Definitions
    checked: Checked
    program: Localised
    sizes: Mapping[str, int]
    replicate: int = REPLICATE

    @staticmethod
    def empty(replicate: int) -> Spread:
        """Before anything is defined."""
        nothing = Checked({}, ())
        return Spread(Definitions(), nothing, Localised(nothing, {}, {}), {}, replicate)

    @staticmethod
    def chosen(
        definitions: Definitions, checked: Checked, sizes: Mapping[str, int], replicate: int
    ) -> Spread:
        """For relations of which the sizes are known."""
        refuse_watched(checked)
        base = {name: sizes.get(name, 0) for name, info in checked.relations.items() if info.base}
        program = localise(checked, choose_homes(checked, base, replicate))
        return Spread(definitions, checked, program, base, replicate)

    def defined(self, definitions: Definitions, checked: Checked, facts: Mapping[str, Ints]) -> Spread:
        """With other definitions. The homes of relations that have rows do not change."""
        refuse_watched(checked)
        old = self.checked.relations
        fixed = dict(self.program.homes) if any(self.sizes.values()) else {}
        sizes = dict(self.sizes)
        for name, hidden in checked.facades.items():
            if name in old and old[name].base and name in fixed:
                fixed[hidden] = fixed.pop(name)
                sizes[hidden] = sizes.pop(name, 0)
        for name, info in checked.relations.items():
            if info.base and name in old and old[name].arity != info.arity:
                fixed.pop(name, None)
                sizes.pop(name, None)
        for name, rows in facts.items():
            sizes[name] = sizes.get(name, 0) + rows.shape[0]
        homes = choose_homes(checked, sizes, self.replicate, fixed)
        moved = [
            name for name, home in homes.items() if self.sizes.get(name) and fixed.get(name, home) != home
        ]
        if moved:
            raise StoreError(
                "placed-otherwise",
                f"the rows of {', '.join(moved)} would have to move to other nodes for this definition",
                hint="close the database and connect again, then define it: rows are placed anew then",
            )
        return replace(self, definitions=definitions, checked=checked, program=localise(checked, homes))

    def grown(self, inserts: Mapping[str, Ints]) -> tuple[Spread, list[str]]:
        """Where rows would live once these are inserted, and the relations whose rows have to move for that."""
        homes = self.program.homes
        sizes = {name: self.sizes.get(name, 0) + rows.shape[0] for name, rows in inserts.items()}
        large = [n for n, size in sizes.items() if homes[n] == EVERYWHERE and size > self.replicate]
        if not large:
            return self, []
        moved = [name for name in large if self.sizes.get(name)]
        fixed = {}
        if any(self.sizes.values()) and not moved:
            fixed = {name: home for name, home in homes.items() if name not in large}
        chosen = choose_homes(self.checked, {**self.sizes, **sizes}, self.replicate, fixed)
        return replace(self, program=localise(self.checked, chosen)), moved

    @property
    def base(self) -> tuple[str, ...]:
        return tuple(name for name, info in self.checked.relations.items() if info.base)

    @property
    def homes(self) -> dict[str, Placement]:
        """Where each relation lives."""
        return {name: self.program.homes[name] for name in self.checked.relations}

    def text(self) -> ProgramText:
        """All that nodes need to know to come to the same program."""
        return ProgramText(
            texts=tuple((program.text, program.source) for program in self.definitions.programs),
            rules=tuple(map(tuple, self.definitions.rules())),
            known=dict(self.definitions.known),
            columns={name: tuple(columns) for name, columns in self.definitions.columns.items()},
            nullable=dict(self.definitions.nullable),
            stored={
                self.checked.relations[name].owner or name: self.checked.relations[name].types
                for name in self.base
                if self.sizes.get(name)
            },
            homes=self.homes,
        )

    def everywhere(self, names: Iterable[str]) -> bool:
        """Whether every node has all rows of these relations."""
        return all(self.program.homes[name] == EVERYWHERE for name in names)

    def parts(self, owners: Owners, name: str, rows: Ints) -> Iterator[tuple[int, Ints]]:
        """The rows of a relation by the node that holds them."""
        home = self.program.homes[name]
        if home.split:
            owner = owners.of_rows(rows, self.checked.relations[name].layout, home.column)
            for node in range(owners.nodes):
                part = rows[owner == node]
                if part.shape[0]:
                    yield node, part
        else:
            for node in range(1 if home == ONE else owners.nodes):
                yield node, rows

    def lines(self) -> list[str]:
        """Where each relation lives, in words."""
        words = []
        for name, home in self.program.homes.items():
            info = self.program.checked.relations[name]
            if info.internal:
                continue
            if home.split:
                words.append(f"  {name}: split by {info.columns[home.column]}")
            else:
                words.append(f"  {name}: {'on every node' if home == EVERYWHERE else 'on the first node'}")
        for stratum in self.program.checked.strata:
            if stratum.recursive:
                names = ", ".join(
                    n for n in stratum.relations if not self.program.checked.relations[n].internal
                )
                alone = all(self.program.routes[rule.label].quiet for rule in stratum.rules)
                words.append(
                    f"  {names}: nodes {'need not' if alone else 'have to'} exchange anything in the recursion"
                )
        return [*words, *(f"  {note}" for note in self.program.notes)]

"""P2 in plain Python: update rules over lists, local fixpoints, timers and messages in virtual time. An oracle.

Nothing of the package is used. Tables are searched from end to end, rules are data of their own (`text` says how they
are written), and a view is computed anew whenever it is read.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, field

Row = tuple


@dataclass(frozen=True)
class Atom:
    """A relation and its arguments: names of variables, or numbers."""

    relation: str
    args: tuple

    def text(self) -> str:
        first, *rest = self.args
        return f"{self.relation}({', '.join([f'@{first}', *map(str, rest)])})"


@dataclass(frozen=True)
class UpdateText:
    """`head :- event, table, !absent, tests.` An aggregate is the last column of the head, over a variable or `*`."""

    head: Atom
    event: Atom | None = None
    table: Atom | None = None
    absent: Atom | None = None
    less: tuple | None = None
    aggregate: tuple | None = None
    delete: bool = False

    def text(self, label: str) -> str:
        head = self.head.text()
        if self.aggregate is not None:
            head = f"{head[:-1]}, a_{self.aggregate[0]}<{self.aggregate[1]}>)"
        body = [atom.text() for atom in (self.event, self.table) if atom is not None]
        body += [f"!{self.absent.text()}"] if self.absent is not None else []
        body += [f"{self.less[0]} < {self.less[1]}"] if self.less is not None else []
        return f"{label} {'delete ' if self.delete else ''}{head} :- {', '.join(body)}."


@dataclass(frozen=True)
class Table:
    """Key columns, and how long and how many rows are kept."""

    key: tuple
    lifetime: float | None = None
    size: int | None = None

    def text(self, name: str) -> str:
        columns = ", ".join(str(column + 1) for column in self.key)
        return (
            f"materialize({name}, {self.lifetime or 'infinity'}, {self.size or 'infinity'}, keys({columns}))."
        )


@dataclass(frozen=True)
class EventProgram:
    """Tables, update rules, views (a name, and the table and column that it projects), and timers by their event."""

    tables: dict
    rules: tuple
    views: dict
    timers: dict

    def text(self) -> str:
        lines = [table.text(name) for name, table in self.tables.items()]
        lines += [f"materialize({name}, infinity, infinity, keys(1, 2))." for name in self.views]
        lines += [rule.text(f"r{number}") for number, rule in enumerate(self.rules)]
        lines += [f"{name} {name}(@X, K) :- {table}(@X, K, V)." for name, table in self.views.items()]
        lines += [
            f"t{name} {name}(@X, 0) :- periodic(@X, E, {period})." for name, period in self.timers.items()
        ]
        return "\n".join(lines)

    def recursion(self) -> dict:
        """For each relation, those it depends on and that depend on it."""
        edges = {}
        for rule in self.rules:
            for atom in (rule.event, rule.table):
                if atom is not None:
                    edges.setdefault(rule.head.relation, set()).add(atom.relation)
        reach = {}
        for start in edges:
            found, todo = set(), list(edges[start])
            while todo:
                name = todo.pop()
                if name not in found:
                    found.add(name)
                    todo += edges.get(name, ())
            reach[start] = found
        return {name: {other for other in reach[name] if name in reach.get(other, ())} for name in reach}


class P2Node:
    def __init__(self, name, program):
        self.name = name
        self.program = program
        self.rows = {table: {} for table in program.tables}
        """Rows in the order in which they came, with the time when they were last said."""
        self.said = {table: [] for table in program.tables}

    def read(self, relation):
        if relation in self.program.views:
            found = {}
            for row in self.rows[self.program.views[relation]]:
                found[row[:2]] = None
            return list(found)
        return list(self.rows[relation])


@dataclass
class P2Network:
    """Nodes by name, with a latency for each pair of them."""

    program: EventProgram
    names: tuple
    latency: dict
    now: float = 0.0
    heap: list = field(default_factory=list)
    sequence: int = 0
    events: list = field(default_factory=list)

    def __post_init__(self):
        self.nodes = {name: P2Node(name, self.program) for name in self.names}
        self.recursion = self.program.recursion()
        for name in self.names:
            for event, period in self.program.timers.items():
                self.push(period, ("timer", name, event, period))

    def push(self, time, what):
        self.sequence += 1
        heapq.heappush(self.heap, (time, self.sequence, what))

    def run(self, until):
        while self.heap and self.heap[0][0] <= until:
            self.now, _, what = heapq.heappop(self.heap)
            kind, name, *rest = what
            node = self.nodes[name]
            if kind == "timer":
                event, period = rest
                self.push(self.now + period, what)
                self.outside(node, ("raise", event, (name, 0)))
            elif kind == "expire":
                relation, row, said = rest
                if node.rows[relation].get(row) == said:
                    self.outside(node, ("delete", relation, row))
            else:
                self.outside(node, rest[0])
        self.now = until

    def outside(self, node, what):
        kind, relation, row = what
        gained, lost = {}, {}
        if kind == "raise":
            self.fixpoint(node, [(relation, row, True)], (), gained, lost)
        else:
            self.change(node, [what], gained, lost)
        while gained or lost:
            starts = [(*key, new) for key, new in gained.items()]
            gone = list(lost)
            gained, lost = {}, {}
            self.fixpoint(node, starts, gone, gained, lost)

    def fixpoint(self, node, starts, gone, gained, lost):
        waiting, seen, changes, messages = deque(starts), set(), {}, {}
        while waiting:
            relation, row, new = waiting.popleft()
            if (relation, row) in seen:
                continue
            seen.add((relation, row))
            if relation not in self.program.tables:
                self.events.append((self.now, relation, row))
            for rule in self.program.rules:
                starts_at = rule.event if rule.event is not None else rule.table
                if starts_at is None or starts_at.relation != relation:
                    continue
                if not new and relation in self.recursion.get(rule.head.relation, ()):
                    continue
                for head in self.heads(node, rule, row):
                    kind = (
                        "delete"
                        if rule.delete
                        else "insert"
                        if rule.head.relation in self.program.tables
                        else "raise"
                    )
                    what = (kind, rule.head.relation, head)
                    if head[0] != node.name:
                        messages[head[0], what] = None
                    elif kind == "raise":
                        waiting.append((rule.head.relation, head, True))
                    else:
                        changes[what] = None
        for receiver, what in messages:
            if receiver in self.nodes:
                self.push(self.now + self.latency[node.name, receiver], ("message", receiver, what))
        self.change(node, changes, gained, lost)

    def heads(self, node, rule, row):
        """The rows of a rule's head that one event, or one row of its table, gives."""
        start = rule.event if rule.event is not None else rule.table
        binding = match(start, row, {})
        if binding is None:
            return
        bindings = [binding]
        if rule.event is not None and rule.table is not None:
            found = (match(rule.table, other, binding) for other in node.read(rule.table.relation))
            bindings = [b for b in found if b is not None]
        if rule.absent is not None:
            there = node.read(rule.absent.relation)
            bindings = [b for b in bindings if tuple(b.get(a, a) for a in rule.absent.args) not in there]
        if rule.less is not None:
            bindings = [b for b in bindings if is_less(*(b.get(side, side) for side in rule.less))]
        if rule.aggregate is None:
            for b in bindings:
                yield tuple(b.get(arg, arg) for arg in rule.head.args)
            return
        groups = {}
        for b in bindings:
            groups.setdefault(tuple(b.get(arg, arg) for arg in rule.head.args), []).append(b)
        if (
            not groups
            and rule.less is None
            and rule.absent is None
            and all(arg in binding or not isinstance(arg, str) for arg in rule.head.args)
        ):
            groups = {tuple(binding.get(arg, arg) for arg in rule.head.args): []}
        function, of = rule.aggregate
        for group, members in groups.items():
            values = [1 if of == "*" else b[of] for b in members]
            values = [value for value in values if value is not None]
            value = {
                "COUNT": len(values), "MIN": min(values, default=None), "MAX": max(values, default=None),
                "LIST": tuple(values),
            }[function]  # fmt: skip
            yield (*group, value)

    def change(self, node, changes, gained, lost):
        for kind, relation, row in changes:
            table, rows, said = self.program.tables[relation], node.rows[relation], node.said[relation]
            if kind == "delete":
                if row in rows:
                    self.drop(node, relation, row, gained, lost)
                continue
            for other in list(rows):
                if other != row and all(other[c] == row[c] for c in table.key):
                    self.drop(node, relation, other, gained, lost)
            new = row not in rows
            rows[row] = self.now
            if row in said:
                said.remove(row)
            said.append(row)
            while table.size is not None and len(rows) > table.size:
                self.drop(node, relation, said[0], gained, lost)
            if table.lifetime is not None:
                self.push(self.now + table.lifetime, ("expire", node.name, relation, row, self.now))
            if new:
                gained[relation, row] = True
                lost.pop((relation, row), None)
            elif table.lifetime is not None:
                gained.setdefault((relation, row), False)

    def drop(self, node, relation, row, gained, lost):
        del node.rows[relation][row]
        node.said[relation].remove(row)
        gained.pop((relation, row), None)
        lost[relation, row] = None


def is_less(one, other):
    """A null is neither below nor above anything."""
    return one is not None and other is not None and one < other


def match(atom, row, binding):
    found = dict(binding)
    for arg, value in zip(atom.args, row, strict=True):
        if isinstance(arg, str):
            if found.setdefault(arg, value) != value:
                return None
        elif arg != value:
            return None
    return found

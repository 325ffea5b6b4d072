"""Random tables with NULLs, negatives and duplicates, and random texts of queries over them."""

from __future__ import annotations

import random
from typing import Any

from headwater.language.sql.tables import table_schema

TABLES = {
    "r": table_schema("r", "a int, b int, c int"),
    "s": table_schema("s", "a int, d int, e string"),
    "u": table_schema("u", "b int not null, f int"),
}
Rows = list[tuple[Any, ...]]


def database(
    rng: random.Random, most: int = 9, *, negative: bool = True, nulls: bool = True
) -> dict[str, Rows]:
    """Few values, so that rows meet and repeat."""
    numbers = [None] * nulls + [-2, -1] * negative + [0, 1, 1, 2, 3]

    def number() -> int | None:
        return rng.choice(numbers)

    def word() -> str | None:
        return rng.choice([None, "x", "xy", "yx", ""])

    def sure() -> int:
        return rng.choice([-1, 0, 1, 2])

    rows: dict[str, Rows] = {
        "r": [(number(), number(), number()) for _ in range(rng.randrange(most))],
        "s": [(number(), number(), word()) for _ in range(rng.randrange(most))],
        "u": [(sure(), number()) for _ in range(rng.randrange(most))],
    }
    for table in rows.values():
        table += [rng.choice(table) for _ in range(rng.randrange(3)) if table]
    return rows


class Writer:
    """Writes random queries. Every limit is under an order by all columns, so that answers are sure."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.aliases = 0

    def query(self, depth: int = 2) -> str:
        kind = self.rng.random()
        if kind < 0.2 and depth:
            left, right = self.select(depth - 1, columns=2), self.select(depth - 1, columns=2)
            word = self.rng.choice(
                ["UNION ALL", "UNION", "EXCEPT", "INTERSECT", "EXCEPT ALL", "INTERSECT ALL"]
            )
            return self.limited(f"({left}) {word} ({right})", 2)
        if kind < 0.3 and depth:
            inner = self.select(depth - 1, columns=2)
            return f"WITH w(m, n) AS ({inner}) SELECT w.m, v.n FROM w, w AS v WHERE w.m = v.m OR w.n < v.n"
        columns = self.rng.randint(1, 3)
        return self.limited(self.select(depth, columns), columns)

    def limited(self, text: str, columns: int) -> str:
        if self.rng.random() < 0.6:
            return text
        keys = [
            f"{number} {self.rng.choice(['ASC', 'DESC'])} NULLS {self.rng.choice(['FIRST', 'LAST'])}"
            for number in range(1, columns + 1)
        ]
        limit = self.rng.choice(["", " LIMIT 2", " LIMIT 3 OFFSET 1"])
        return f"SELECT * FROM ({text}) AS q ORDER BY {', '.join(keys)}{limit}"

    def select(self, depth: int, columns: int) -> str:
        source, names = self.sources(depth)
        where = f" WHERE {self.condition(names, depth)}" if self.rng.random() < 0.6 else ""
        if self.rng.random() < 0.45:
            return self.grouped(source, names, where, columns, depth)
        distinct = "DISTINCT " if self.rng.random() < 0.2 else ""
        shown = [self.scalar(names, 1) for _ in range(columns)]
        if self.rng.random() < 0.1 and not distinct:
            over = f"PARTITION BY {self.rng.choice(names)} ORDER BY {self.rng.choice(names)} DESC NULLS LAST"
            call = self.rng.choice(["rank()", "dense_rank()", "count(*)", f"sum({self.rng.choice(names)})"])
            shown[-1] = f"{call} OVER ({over})"
        return f"SELECT {distinct}{self.named(shown)} FROM {source}{where}"

    def named(self, shown: list[str]) -> str:
        return ", ".join(f"{each} AS o{number}" for number, each in enumerate(shown))

    def grouped(self, source: str, names: list[str], where: str, columns: int, depth: int) -> str:
        keys = self.rng.sample(names, self.rng.choice([0, 1, 1, 2]))
        shown = [
            self.rng.choice(keys) if keys and self.rng.random() < 0.5 else self.aggregate(names)
            for _ in range(columns)
        ]
        if not keys and not any("(" in each for each in shown):
            shown[0] = self.aggregate(names)
        having = ""
        if self.rng.random() < 0.5:
            subject = self.aggregate(names)
            having = f" HAVING {subject} {self.compared()} {self.rng.randint(-3, 4)}"
            if self.rng.random() < 0.2 and depth:
                having += f" AND count(*) IN (SELECT {self.rng.choice(['d', 'a'])} FROM s)"
        group = f" GROUP BY {', '.join(keys)}" if keys else ""
        return f"SELECT {self.named(shown)} FROM {source}{where}{group}{having}"

    def aggregate(self, names: list[str]) -> str:
        argument = self.scalar(names, 1)
        function = self.rng.choice(["count", "sum", "min", "max", "avg"])
        if self.rng.random() < 0.2:
            return "count(*)"
        distinct = "DISTINCT " if self.rng.random() < 0.15 else ""
        condition = f" FILTER (WHERE {self.simple(names)})" if self.rng.random() < 0.1 else ""
        return f"{function}({distinct}{argument}){condition}"

    def sources(self, depth: int) -> tuple[str, list[str]]:
        source, names = self.source(depth)
        for _ in range(self.rng.choice([0, 0, 1, 1, 2])):
            other, more = self.source(depth)
            kind = self.rng.choice([",", "JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
            if kind == ",":
                source += f", {other}"
            else:
                condition = f"{self.rng.choice(names)} = {self.rng.choice(more)}"
                if kind in ("JOIN", "LEFT JOIN") and self.rng.random() < 0.3:
                    condition += f" AND {self.simple(names + more)}"
                source = f"{source} {kind} {other} ON {condition}" if "," not in source else source
                if "," in source and other not in source:
                    continue
            names = names + more
        return source, names

    def source(self, depth: int) -> tuple[str, list[str]]:
        self.aliases += 1
        alias = f"x{self.aliases}"
        if depth and self.rng.random() < 0.25:
            return f"({self.select(depth - 1, 2)}) AS {alias}", [f"{alias}.o0", f"{alias}.o1"]
        table = self.rng.choice(["r", "r", "s", "u"])
        names = {"r": "abc", "s": "ad", "u": "bf"}[table]
        return f"{table} AS {alias}", [f"{alias}.{name}" for name in names]

    def compared(self) -> str:
        return self.rng.choice(["=", "<>", "<", "<=", ">", ">="])

    def simple(self, names: list[str]) -> str:
        return f"{self.scalar(names, 0)} {self.compared()} {self.scalar(names, 0)}"

    def condition(self, names: list[str], depth: int) -> str:
        kind = self.rng.random()
        if kind < 0.35:
            return self.simple(names)
        if kind < 0.45:
            word = self.rng.choice(["AND", "AND", "OR"])
            return f"{self.condition(names, 0)} {word} {self.condition(names, 0)}"
        if kind < 0.5:
            return f"NOT ({self.condition(names, 0)})"
        name = self.rng.choice(names)
        if kind < 0.56:
            return f"{name} IS {self.rng.choice(['', 'NOT '])}NULL"
        if kind < 0.62:
            return f"{name} {self.rng.choice(['', 'NOT '])}IN (1, 2, {self.rng.choice(['-1', 'NULL'])})"
        if kind < 0.68:
            return f"{name} BETWEEN {self.rng.randint(-2, 0)} AND {self.rng.randint(0, 3)}"
        if kind < 0.72:
            return f"{name} IS {self.rng.choice(['', 'NOT '])}DISTINCT FROM {self.scalar(names, 0)}"
        if not depth:
            return self.simple(names)
        word = self.rng.choice(["", "NOT "])
        if kind < 0.8:
            return f"{name} {word}IN (SELECT {self.rng.choice('ad')} FROM s WHERE {self.inner(names)})"
        if kind < 0.9:
            return f"{word}EXISTS (SELECT 1 FROM s WHERE {self.inner(names)} AND {self.inner(names)})"
        if kind < 0.95:
            return f"{name} {self.compared()} (SELECT {self.rng.choice(['sum', 'min', 'count'])}(d) FROM s)"
        call = self.rng.choice(["sum(d)", "count(*)", "coalesce(max(d), 5)"])
        return f"{name} {self.compared()} (SELECT {call} FROM s WHERE s.a = {self.rng.choice(names)})"

    def inner(self, names: list[str]) -> str:
        return self.rng.choice(
            [f"s.a = {self.rng.choice(names)}", f"s.d < {self.rng.choice(names)}", "s.a > 0"]
        )

    def scalar(self, names: list[str], depth: int) -> str:
        kind = self.rng.random()
        if kind < 0.6:
            return self.rng.choice(names)
        if kind < 0.75:
            return str(self.rng.randint(-2, 3))
        one, other = self.rng.choice(names), self.rng.choice(names)
        if kind < 0.85:
            return f"({one} {self.rng.choice(['+', '-', '*'])} {other})"
        if kind < 0.9:
            return f"coalesce({one}, {other}, 1)"
        if kind < 0.95 or not depth:
            return f"-{one}"
        return f"CASE WHEN {self.simple(names)} THEN {one} ELSE {other} END"


class SketchWriter(Writer):
    """Writes queries of the shapes that sketches are for: conditions and limits on groups, nested, joined, united."""

    def query(self, depth: int = 1) -> str:
        shapes = "having having top top nested nested member union distinct plain except"
        shape = self.rng.choice(shapes.split())
        return str(getattr(self, f"write_{shape}")())

    def groups(self, keys: list[str], source: str, names: list[str], aggregates: int = 1) -> str:
        where = f" WHERE {self.simple(names)}" if self.rng.random() < 0.3 else ""
        shown = [f"{key} AS k{at}" for at, key in enumerate(keys)]
        shown += [f"{self.call(names)} AS f{at}" for at in range(aggregates)]
        having = f" HAVING {self.bound(names)}" if self.rng.random() < 0.7 else ""
        if having and self.rng.random() < 0.2:
            having += f" {self.rng.choice(['AND', 'OR'])} {self.bound(names)}"
        group = f" GROUP BY {', '.join(keys)}" if keys else ""
        return f"SELECT {', '.join(shown)} FROM {source}{where}{group}{having}"

    def bound(self, names: list[str]) -> str:
        left, right = self.call(names), str(self.rng.randint(-2, 5))
        if self.rng.random() < 0.15:
            right = self.call(names)
        if self.rng.random() < 0.1:
            return f"NOT {left} {self.compared()} {right}"
        return f"{left} {self.compared()} {right}"

    def call(self, names: list[str]) -> str:
        if self.rng.random() < 0.2:
            return "count(*)"
        name = self.rng.choice(names)
        if self.rng.random() < 0.25:
            name = self.rng.choice(
                [f"{name} + 1", f"-{name}", f"2 - {name}", f"{name} * {self.rng.choice(names)}"]
            )
        distinct = "DISTINCT " if self.rng.random() < 0.1 else ""
        return f"{self.rng.choice(['count', 'sum', 'sum', 'min', 'max', 'avg'])}({distinct}{name})"

    def joined(self) -> tuple[str, list[str]]:
        kind = self.rng.random()
        if kind < 0.5:
            return "r", ["r.a", "r.b", "r.c"]
        if kind < 0.7:
            join = self.rng.choice(["JOIN", "JOIN", "LEFT JOIN"])
            on = self.rng.choice(["r.a = s.a", "r.a = s.d", "r.b = s.d AND r.a = s.a", "r.a < s.a"])
            return f"r {join} s ON {on}", ["r.a", "r.b", "r.c", "s.a", "s.d"]
        if kind < 0.85:
            on = self.rng.choice(["x.a = y.a", "x.a = y.b", "x.b = y.b AND x.c = y.c"])
            return f"r x JOIN r y ON {on}", ["x.a", "x.b", "x.c", "y.a", "y.b"]
        return "s", ["s.a", "s.d"]

    def write_having(self) -> str:
        source, names = self.joined()
        return self.groups(self.rng.sample(names, self.rng.choice([0, 1, 1, 2])), source, names)

    def order(self, name: str) -> str:
        return f"{name} {self.rng.choice(['ASC', 'DESC', 'DESC'])} NULLS {self.rng.choice(['FIRST', 'LAST', 'LAST'])}"

    def write_top(self) -> str:
        source, names = self.joined()
        if self.rng.random() < 0.25:
            shown = self.rng.sample(names, 2)
            order = f"{self.order('1')}, {self.order('2')}"
            return f"SELECT {shown[0]} AS k0, {shown[1]} AS k1 FROM {source} ORDER BY {order} LIMIT 2"
        keys = self.rng.sample(names, self.rng.choice([1, 1, 2]))
        aggregates = self.rng.choice([1, 2])
        text = self.groups(keys, source, names, aggregates)
        first = self.order(self.rng.choice(["f0", "f0", "f0", "k0"]))
        rest = "".join(f", {self.order(f'k{at}')}" for at in range(len(keys)) if self.rng.random() < 0.7)
        text = f"{text} ORDER BY {first}{rest} LIMIT {self.rng.randint(1, 3)}"
        if self.rng.random() < 0.2:
            return f"SELECT k0, sum(f0) AS f FROM ({text}) AS q GROUP BY k0"
        if self.rng.random() < 0.1:
            return f"SELECT * FROM ({text}) AS q WHERE f0 {self.compared()} 1"
        return text

    def write_nested(self) -> str:
        source, names = self.joined()
        keys = self.rng.sample(names, 2)
        inner = self.groups(keys, source, names, 2)
        over = ["q.k1", "q.f0", "q.f1"]
        keys = self.rng.choice([["q.k0"], ["q.k0"], ["q.k0", "q.f1"], ["q.f0"], []])
        return self.groups(keys, f"({inner}) AS q", over)

    def write_member(self) -> str:
        source, names = self.joined()
        key = self.rng.choice(names)
        inner = self.groups([key], source, names, 0)
        word = self.rng.choice(["IN", "IN", "IN", "NOT IN"])
        outside = self.rng.choice(["u.b", "u.f"])
        text = f"SELECT u.b AS m, u.f AS n FROM u WHERE {outside} {word} ({inner})"
        if self.rng.random() < 0.3:
            return f"SELECT m, count(*) AS f FROM ({text}) AS q GROUP BY m HAVING {self.bound(['q.n'])}"
        return text

    def write_union(self) -> str:
        one = self.rng.choice(
            ["SELECT a AS m, b AS n FROM r", "SELECT a AS m, sum(b) AS n FROM r GROUP BY a"]
        )
        other = self.rng.choice(
            ["SELECT a AS m, d AS n FROM s", "SELECT d AS m, count(*) AS n FROM s GROUP BY d"]
        )
        word = self.rng.choice(["UNION ALL", "UNION ALL", "UNION"])
        return self.groups(["q.m"], f"({one} {word} {other}) AS q", ["q.n"])

    def write_distinct(self) -> str:
        source, names = self.joined()
        shown = self.rng.sample(names, 2)
        inner = f"SELECT DISTINCT {shown[0]} AS m, {shown[1]} AS n FROM {source}"
        return self.groups(["q.m"], f"({inner}) AS q", ["q.n"])

    def write_plain(self) -> str:
        source, names = self.joined()
        shown = self.rng.sample(names, 2)
        return f"SELECT {shown[0]} AS m, {shown[1]} AS n FROM {source} WHERE {self.condition(names, 1)}"

    def write_except(self) -> str:
        one = self.rng.choice(
            ["SELECT a FROM r", "SELECT count(*) FROM r GROUP BY a", "SELECT a FROM r WHERE b > 0"]
        )
        return f"{one} {self.rng.choice(['EXCEPT', 'INTERSECT', 'EXCEPT ALL'])} SELECT a FROM s"

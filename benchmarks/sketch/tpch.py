"""Tables like TPC-H's, from a seed: keys, dates, prices and the words that its queries ask for are distributed as
there.

Comments and addresses are short, and keys of orders are dense (TPC-H leaves three of four out). Scale 1 has six
million rows of `lineitem`, as there.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Ints = npt.NDArray[np.int64]
NATIONS = (
    ("ALGERIA", 0), ("ARGENTINA", 1), ("BRAZIL", 1), ("CANADA", 1), ("EGYPT", 4), ("ETHIOPIA", 0), ("FRANCE", 3),
    ("GERMANY", 3), ("INDIA", 2), ("INDONESIA", 2), ("IRAN", 4), ("IRAQ", 4), ("JAPAN", 2), ("JORDAN", 4),
    ("KENYA", 0), ("MOROCCO", 0),
    ("MOZAMBIQUE", 0), ("PERU", 1), ("CHINA", 2), ("ROMANIA", 3), ("SAUDI ARABIA", 4), ("VIETNAM", 2),
    ("RUSSIA", 3), ("UNITED KINGDOM", 3), ("UNITED STATES", 1),
)  # fmt: skip
REGIONS = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")
SEGMENTS = ("AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY")
PRIORITIES = ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW")
MODES = ("AIR", "AIR REG", "FOB", "MAIL", "RAIL", "SHIP", "TRUCK")
INSTRUCTIONS = ("COLLECT COD", "DELIVER IN PERSON", "NONE", "TAKE BACK RETURN")
COLOURS = (
    "almond",
    "azure",
    "blue",
    "brown",
    "cream",
    "forest",
    "green",
    "ivory",
    "lime",
    "navy",
    "olive",
    "red",
)
TYPES = tuple(
    f"{a} {b} {c}"
    for a in ("ECONOMY", "LARGE", "MEDIUM", "PROMO", "SMALL", "STANDARD")
    for b in ("ANODIZED", "BRUSHED", "BURNISHED", "PLATED", "POLISHED")
    for c in ("BRASS", "COPPER", "NICKEL", "STEEL", "TIN")
)
CONTAINERS = tuple(
    f"{a} {b}"
    for a in ("JUMBO", "LG", "MED", "SM", "WRAP")
    for b in ("BAG", "BOX", "CAN", "CASE", "PACK", "PKG")
)
FIRST_DAY = (datetime.date(1992, 1, 1) - datetime.date(1970, 1, 1)).days
DAYS = (datetime.date(1998, 8, 2) - datetime.date(1992, 1, 1)).days
CURRENT = (datetime.date(1995, 6, 17) - datetime.date(1970, 1, 1)).days


@dataclass(frozen=True)
class TpchData:
    """Makes the tables of one scale, and further orders with their lines."""

    scale: float
    seed: int = 1

    @property
    def orders(self) -> int:
        return max(40, int(1_500_000 * self.scale))

    @property
    def customers(self) -> int:
        return max(20, int(150_000 * self.scale))

    @property
    def parts(self) -> int:
        return max(20, int(200_000 * self.scale))

    @property
    def suppliers(self) -> int:
        return max(10, int(10_000 * self.scale))

    def tables(self) -> dict[str, pa.Table]:
        """All eight."""
        orders, lines = self.new_orders(np.arange(1, self.orders + 1), self.seed)
        return {
            "region": pa.table({"r_regionkey": np.arange(5), "r_name": REGIONS, "r_comment": [""] * 5}),
            "nation": pa.table(
                {
                    "n_nationkey": np.arange(25),
                    "n_name": [name for name, _ in NATIONS],
                    "n_regionkey": np.array([region for _, region in NATIONS]),
                    "n_comment": [""] * 25,
                }
            ),
            "part": self._parts(),
            "supplier": self._suppliers(),
            "partsupp": self._partsupps(),
            "customer": self._customers(),
            "orders": orders,
            "lineitem": lines,
        }

    def new_orders(self, keys: Ints, seed: int) -> tuple[pa.Table, pa.Table]:
        """Orders with these keys, and one to seven lines of each."""
        random = np.random.default_rng(seed)
        days = FIRST_DAY + random.integers(0, DAYS - 150, len(keys))
        orders = pa.table(
            {
                "o_orderkey": keys,
                "o_custkey": random.integers(1, self.customers + 1, len(keys)),
                "o_orderstatus": _words(random, ("F", "O", "P"), len(keys)),
                "o_totalprice": _decimals(random.integers(90_000, 50_000_000, len(keys))),
                "o_orderdate": _dates(days),
                "o_orderpriority": _words(random, PRIORITIES, len(keys)),
                "o_clerk": _numbered("Clerk#", random.integers(1, 1000, len(keys))),
                "o_shippriority": np.zeros(len(keys), np.int64),
                "o_comment": _words(random, COLOURS, len(keys)),
            }
        )
        counts = random.integers(1, 8, len(keys))
        return orders, self._lines(random, np.repeat(keys, counts), np.repeat(days, counts), counts)

    def _lines(self, random: np.random.Generator, keys: Ints, days: Ints, counts: Ints) -> pa.Table:
        n = len(keys)
        quantity = random.integers(1, 51, n)
        parts = random.integers(1, self.parts + 1, n)
        shipped = days + random.integers(1, 122, n)
        received = shipped + random.integers(1, 31, n)
        flags = np.where(received <= CURRENT, random.integers(0, 2, n), 2)
        starts = np.cumsum(counts) - counts
        return pa.table(
            {
                "l_orderkey": keys,
                "l_partkey": parts,
                "l_suppkey": self._supplier_of(parts, random.integers(0, 4, n)),
                "l_linenumber": np.arange(n) - np.repeat(starts, counts) + 1,
                "l_quantity": _decimals(quantity * 100),
                "l_extendedprice": _decimals(quantity * (90_000 + parts % 20_001 + 100 * (parts % 1000))),
                "l_discount": _decimals(random.integers(0, 11, n)),
                "l_tax": _decimals(random.integers(0, 9, n)),
                "l_returnflag": _chosen(("A", "R", "N"), flags),
                "l_linestatus": _chosen(("F", "O"), (shipped > CURRENT).astype(np.int64)),
                "l_shipdate": _dates(shipped),
                "l_commitdate": _dates(days + random.integers(30, 91, n)),
                "l_receiptdate": _dates(received),
                "l_shipinstruct": _words(random, INSTRUCTIONS, n),
                "l_shipmode": _words(random, MODES, n),
                "l_comment": _words(random, COLOURS, n),
            }
        )

    def _supplier_of(self, parts: Ints, which: Ints) -> Ints:
        found: Ints = (parts + which * (self.suppliers // 4 + 1)) % self.suppliers + 1
        return found

    def _parts(self) -> pa.Table:
        random, n = np.random.default_rng(self.seed + 1), self.parts
        names = pc.binary_join_element_wise(_words(random, COLOURS, n), _words(random, COLOURS, n), " ")
        return pa.table(
            {
                "p_partkey": np.arange(1, n + 1),
                "p_name": names,
                "p_mfgr": _numbered("Manufacturer#", random.integers(1, 6, n)),
                "p_brand": _numbered("Brand#", 10 * random.integers(1, 6, n) + random.integers(1, 6, n)),
                "p_type": _words(random, TYPES, n),
                "p_size": random.integers(1, 51, n),
                "p_container": _words(random, CONTAINERS, n),
                "p_retailprice": _decimals(random.integers(90_000, 200_000, n)),
                "p_comment": _words(random, COLOURS, n),
            }
        )

    def _suppliers(self) -> pa.Table:
        random, n = np.random.default_rng(self.seed + 2), self.suppliers
        return pa.table(
            {
                "s_suppkey": np.arange(1, n + 1),
                "s_name": _numbered("Supplier#", np.arange(1, n + 1)),
                "s_address": _words(random, COLOURS, n),
                "s_nationkey": random.integers(0, 25, n),
                "s_phone": _numbered("", random.integers(10**9, 10**10, n)),
                "s_acctbal": _decimals(random.integers(-99_999, 999_999, n)),
                "s_comment": _words(random, COLOURS, n),
            }
        )

    def _partsupps(self) -> pa.Table:
        random = np.random.default_rng(self.seed + 3)
        parts, which = np.repeat(np.arange(1, self.parts + 1), 4), np.tile(np.arange(4), self.parts)
        return pa.table(
            {
                "ps_partkey": parts,
                "ps_suppkey": self._supplier_of(parts, which),
                "ps_availqty": random.integers(1, 10_000, len(parts)),
                "ps_supplycost": _decimals(random.integers(100, 100_000, len(parts))),
                "ps_comment": _words(random, COLOURS, len(parts)),
            }
        )

    def _customers(self) -> pa.Table:
        random, n = np.random.default_rng(self.seed + 4), self.customers
        return pa.table(
            {
                "c_custkey": np.arange(1, n + 1),
                "c_name": _numbered("Customer#", np.arange(1, n + 1)),
                "c_address": _words(random, COLOURS, n),
                "c_nationkey": random.integers(0, 25, n),
                "c_phone": _numbered("", random.integers(10**9, 10**10, n)),
                "c_acctbal": _decimals(random.integers(-99_999, 999_999, n)),
                "c_mktsegment": _words(random, SEGMENTS, n),
                "c_comment": _words(random, COLOURS, n),
            }
        )


def _chosen(words: Sequence[str], which: Ints) -> pa.Array:
    return pa.DictionaryArray.from_arrays(
        pa.array(which.astype(np.int32)), pa.array(words)
    ).dictionary_decode()


def _words(random: np.random.Generator, words: Sequence[str], n: int) -> pa.Array:
    return _chosen(words, random.integers(0, len(words), n))


def _numbered(head: str, numbers: Ints) -> pa.Array:
    return pc.binary_join_element_wise(pa.scalar(head), pa.array(numbers).cast(pa.string()), "")


def _dates(days: Ints) -> pa.Array:
    return pa.array(days.astype(np.int32)).cast(pa.date32())


def _decimals(cents: Any) -> pa.Array:
    """Hundredths as decimals of 15 digits."""
    words = np.empty((len(cents), 2), np.int64)
    words[:, 0], words[:, 1] = cents, np.asarray(cents) >> 63
    return pa.Array.from_buffers(pa.decimal128(15, 2), len(cents), [None, pa.py_buffer(words)])

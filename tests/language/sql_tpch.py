"""The tables of TPC-H, and those of its queries that the paper evaluates, with the values to validate by."""

from __future__ import annotations

from benchmarks.sketch.tpch_queries import QUERIES
from headwater.language.sql.tables import TableSchema, table_schema

TABLES: dict[str, TableSchema] = {
    name: table_schema(name, columns)
    for name, columns in {
        "region": "r_regionkey int not null, r_name string not null, r_comment string",
        "nation": "n_nationkey int not null, n_name string not null, n_regionkey int not null, n_comment string",
        "part": "p_partkey int not null, p_name string not null, p_mfgr string, p_brand string, p_type string, "
        "p_size int, p_container string, p_retailprice decimal(15,2), p_comment string",
        "supplier": "s_suppkey int not null, s_name string, s_address string, s_nationkey int not null, "
        "s_phone string, s_acctbal decimal(15,2), s_comment string",
        "partsupp": "ps_partkey int not null, ps_suppkey int not null, ps_availqty int, "
        "ps_supplycost decimal(15,2), ps_comment string",
        "customer": "c_custkey int not null, c_name string, c_address string, c_nationkey int not null, "
        "c_phone string, c_acctbal decimal(15,2), c_mktsegment string, c_comment string",
        "orders": "o_orderkey int not null, o_custkey int not null, o_orderstatus string, "
        "o_totalprice decimal(15,2), o_orderdate date not null, o_orderpriority string, o_clerk string, "
        "o_shippriority int, o_comment string",
        "lineitem": "l_orderkey int not null, l_partkey int not null, l_suppkey int not null, l_linenumber int, "
        "l_quantity decimal(15,2), l_extendedprice decimal(15,2), l_discount decimal(15,2), "
        "l_tax decimal(15,2), l_returnflag string, l_linestatus string, l_shipdate date, l_commitdate date, "
        "l_receiptdate date, l_shipinstruct string, l_shipmode string, l_comment string",
    }.items()
}

__all__ = ["QUERIES", "TABLES"]

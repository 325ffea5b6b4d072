"""SQL: text to plans of relational algebra (`parse`), and plans to the SQL of a system (`render`).

sqlglot reads and writes texts; it is the extra `sketch`. Plans themselves (`algebra`, `scalars`) do not need it.
"""

"""SQL: text to plans of relational algebra (`parse`), and plans to the SQL of a system (`render`)."""

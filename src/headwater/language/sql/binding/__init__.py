"""From sqlglot's trees to plans: names are resolved, sugar is lowered, what plans cannot say is refused."""

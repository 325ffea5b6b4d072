"""Active rules and definitions that change: what watching a view costs, and what a rule gained or lost."""

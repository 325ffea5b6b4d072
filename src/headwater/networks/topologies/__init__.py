"""Networks to run programs on: made-up ones from a seed, real ones, and those of users."""

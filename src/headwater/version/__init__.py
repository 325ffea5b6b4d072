"""A version of a database while it is open, and what it did."""

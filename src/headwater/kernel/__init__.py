"""Columnar relations and what can be done to them, compiled, set at a time."""

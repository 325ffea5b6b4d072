"""Active rules: an event (rows of a relation that come or go), a condition, and an action.

- `trigger`: event and condition as data, and the rows of a version that they hold for
"""

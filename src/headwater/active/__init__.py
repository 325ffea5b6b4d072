"""Active rules: an event (rows of a relation that come or go), a condition, and an action.

- `trigger`: event and condition as data, and the rows of a version that they hold for
- `rules`: the active rules of a catalog, checked: which rows each of their actions is about
- `cascade`: actions in the same version, until nothing is left to do, and refusals
- `event`, `watch`, `delivery`: what a version did to the rows that somebody watches, and telling it after the version
- `actions`: what is done outside of the database: `call`, `append`, `run`
"""

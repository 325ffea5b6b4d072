"""Propagation and filtration: what a version does to views that are not stored, computed without their rows.

Harrison and Dietrich, "Incremental View Maintenance" (1994), whose algorithm EPF this is, with aggregates and
best rows by group, negation by strata, and rules that come and go.

- `sides`: the program before and after the version, as one program
- `queries`: what is asked of both states, as goals
- `memo`: what was found, for as long as the version is open
- `propagate`: the algorithm
- `version`: all strata of a version, in turn
"""

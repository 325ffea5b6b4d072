"""The demo: a network whose links fail and come back, and two recursive views that follow.

`python -m headwater.demo` runs it; `--picture FILE` also draws what was measured. Nothing is prepared or
waited for: every number is measured while it runs, and every view is compared with two computations from
scratch.

- `scenario`: the network, the rules, and what happens to the links;
- `contenders`: Headwater, and two that start over each time (Headwater's own `recompute`, and DuckDB);
- `measure`: let all of them follow each change, compare their rows, keep the times;
- `witness`: why a row is there or is not, by asking the views;
- `through_spark`: the links from a file, the views and their changes as files, by Spark;
- `crash`: the same changes into a state folder, by a process that is killed;
- `report` and `picture`: what a person sees.
"""

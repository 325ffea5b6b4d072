"""Questions by goal: rules rewritten so that only what a goal needs of the relations they define is derived.

Magic sets (Bancilhon, Maier, Sagiv and Ullman 1986; Beeri and Ramakrishnan 1991). Every relation that is not stored
is evaluated for each pattern of bound columns in which it is called (its *adornment*), and for the values asked for,
which are the rows of a relation of their own. What comes out are ordinary rules in strata, so whatever evaluates
views evaluates goals: recursion ends because rows are kept (tabling), negation and aggregates go by strata.

- `adorned`: a relation as it is called, and which of its columns may be bound
- `sideways`: the order in which the parts of a body pass their values on
- `magic`: the rewriting
- `linear`: recursion that hands its result through, for which asking is enough
- `stratified`: what the rewriting must not do, and what is done instead
- `gates`: several goals in one program, where nothing is evaluated before it is asked for
- `brought`: the same over relations that are elsewhere, whose rows are brought as they are asked for
- `program`: the outcome, as data, and in words
- `plainly`: what went wrong, with the names that users know
"""

from headwater.plan.goals.brought import brought
from headwater.plan.goals.program import GoalProgram
from headwater.plan.goals.stratified import goal_program, goals_program

__all__ = ["GoalProgram", "brought", "goal_program", "goals_program"]

"""The rewrites, in order. Each is one file with one function from draft to draft, of the same name.

What each one promises, and the next ones rely on, is in its docstring. To add one: write its file, put it
into the tuple, add a fixture to the tests and a row to the table in ARCHITECTURE.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from headwater.errors import RuleError
from headwater.rules.draft import Draft
from headwater.rules.locations import locations
from headwater.rules.rewrites.aggregate_selection import aggregate_selection
from headwater.rules.rewrites.body_aggregates import body_aggregates
from headwater.rules.rewrites.compute_facts import compute_facts
from headwater.rules.rewrites.cut_bodies import cut_bodies
from headwater.rules.rewrites.cut_terms import cut_terms
from headwater.rules.rewrites.drop_duplicates import drop_duplicates
from headwater.rules.rewrites.expand_disjunction import expand_disjunction
from headwater.rules.rewrites.flatten_terms import flatten_terms
from headwater.rules.rewrites.fold_constants import fold_constants
from headwater.rules.rewrites.head_aggregates import head_aggregates
from headwater.rules.rewrites.merge_equal import merge_equal
from headwater.rules.rewrites.negate_groups import negate_groups
from headwater.rules.rewrites.orient_equalities import orient_equalities
from headwater.rules.rewrites.project_negation import project_negation
from headwater.rules.rewrites.project_parts import project_parts
from headwater.rules.rewrites.rename_assigned import rename_assigned
from headwater.rules.rewrites.resolve_functions import resolve_functions
from headwater.rules.rewrites.split_heads import split_heads
from headwater.rules.rewrites.split_inputs import split_inputs
from headwater.rules.rewrites.take_facts import take_facts
from headwater.rules.rewrites.unlabel_best import unlabel_best
from headwater.rules.strata import edges

Rewrite = Callable[[Draft], Draft]
Rewrites = tuple[Rewrite, ...]

REWRITES: Rewrites = (
    rename_assigned,
    split_heads,
    negate_groups,
    fold_constants,
    compute_facts,
    take_facts,
    resolve_functions,
    cut_terms,
    flatten_terms,
    expand_disjunction,
    body_aggregates,
    split_inputs,
    head_aggregates,
    project_negation,
    orient_equalities,
    merge_equal,
    unlabel_best,
    drop_duplicates,
    aggregate_selection,
    cut_bodies,
    project_parts,
)

OF_UPDATES: frozenset[Rewrite] = frozenset(
    (
        rename_assigned,
        split_heads,
        negate_groups,
        fold_constants,
        compute_facts,
        take_facts,
        resolve_functions,
        cut_terms,
        flatten_terms,
        expand_disjunction,
        body_aggregates,
        project_negation,
        orient_equalities,
    )
)
"""Those that update rules go through as well. The others speak of rows that follow from others: an update rule keeps
its body and its aggregates as they are."""


def rewritten(draft: Draft, rewrites: Rewrites = REWRITES) -> Draft:
    """The draft after all rewrites, or those given. What a rewrite makes for an update rule is a view, and reads no
    event."""
    for rewrite in rewrites:
        if rewrite is project_parts and draft.roles.network and locations(draft.program.rules):
            continue  # what it joins may live at places that no link joins
        if rewrite in OF_UPDATES or not draft.roles.any:
            draft = rewrite(draft)
            if draft.roles.any:
                draft = draft.with_rules(
                    replace(rule, update=None) if rule.update and rule.relation in draft.internal else rule
                    for rule in draft.rules
                )
        else:
            updates = [rule for rule in draft.rules if rule.update is not None]
            draft = rewrite(draft.with_rules(rule for rule in draft.rules if rule.update is None))
            draft = draft.with_rules((*draft.rules, *updates))
    for rule in draft.rules:
        for edge in edges([rule]) if rule.update is None and draft.roles.any else ():
            if edge.target in draft.roles.events:
                raise RuleError(
                    "event-not-stored",
                    f"{edge.target} is an event, and stands in a group or an alternative",
                    place=edge.place or rule.place,
                    hint="write a rule for each alternative, with the event as a premise of its own",
                )
    return draft

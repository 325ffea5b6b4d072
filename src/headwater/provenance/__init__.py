"""Explanations: why a row is there, why another is not, what would change, what hangs on a row.

Nothing is stored for them. Rules are run backwards from the row that is asked about, over the same indexes that
keep views up to date, so the cost follows the answer and not the view (green-2007, section 4.1.3: derivation
testing, goal-directed). It works under any strategy.

What holds: a *derivation* is one rule with one row for each premise, all of them there now, and none for each
negated premise. A row that is there has one that does not rest on the row itself. Derivations may form cycles.
"""

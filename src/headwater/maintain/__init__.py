"""Keeping derived relations right: one file a strategy, and what they share."""

"""Datalog in two dialects, NDlog and Souffle's: `parse` makes a `Program` of a text, `render` is the way back."""

from headwater.language.datalog.parser import parse

__all__ = ["parse"]

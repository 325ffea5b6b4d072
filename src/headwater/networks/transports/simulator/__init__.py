"""Nodes in virtual time: messages as events, each in its own time."""

"""Declarative networks: figures 7 to 14 of loo-2006, and how cost grows with the number of nodes."""

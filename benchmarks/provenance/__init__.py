"""Figures 7 to 14 of liu-2008: what provenance costs, and what it saves, across simulated nodes."""

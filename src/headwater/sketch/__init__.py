"""Provenance sketches: which fragments of a table a query's answer rests on, so that the rest need not be read."""

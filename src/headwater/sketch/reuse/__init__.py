"""Answering a query with the sketch of another one that differs in constants."""

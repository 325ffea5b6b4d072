"""Wrappers: a peer's relations in a database of its own (green-2007, section 5).

A wrapper imports what is there, obtains what users of that database do to it, and applies what update exchange
comes to.
"""

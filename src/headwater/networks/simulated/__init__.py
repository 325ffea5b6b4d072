"""Operators of liu-2008 on simulated nodes: recursive views partitioned over a network, and what is shipped."""

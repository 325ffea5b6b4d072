"""Nodes that do not wait for each other: views with provenance over a network of them, hosted like other nodes."""

"""Workloads with the shape of real ones, beside another engine that computes the same."""

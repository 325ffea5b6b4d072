"""Sketches under the clock: what maintaining, capturing and using them takes."""

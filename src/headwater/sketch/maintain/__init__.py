"""Sketches follow their tables: incremental operators over rows that carry fragments, with state, and what they merge
to."""

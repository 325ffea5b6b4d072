"""Small rounds of a fixpoint, as many as there are, in one call."""

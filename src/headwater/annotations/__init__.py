"""The algebra of annotations: what a row can carry, and how it is combined along rules."""

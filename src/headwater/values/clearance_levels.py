"""The levels of clearance, lowest first, where nobody names others."""

LEVELS = ("public", "confidential", "secret", "top secret")

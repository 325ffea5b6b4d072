"""The questions, one module each: why, why not, what depends on a row, what its rows carry; and what they search."""

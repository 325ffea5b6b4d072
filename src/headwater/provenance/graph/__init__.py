"""The derivations of a row as a graph, and what can be read off it: proofs, minimal explanations, expressions."""

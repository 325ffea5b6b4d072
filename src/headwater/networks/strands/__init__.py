"""From checked rules to what a node runs: where rows live, rules with local bodies, strands."""

"""What rows carry on asynchronous nodes, and what is shipped for it: one scheme a module."""

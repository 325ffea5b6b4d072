"""What carries messages between nodes, and calls them: one transport a folder."""

"""A node: tables, what is published and passes on, messages, and the state machine that holds them together."""

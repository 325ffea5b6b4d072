"""A database's relations in this process, and what is asked of any place where they may live."""

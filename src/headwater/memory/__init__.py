"""Memory as a thing that runs out: what the system has, a database's budget, and errors that say sizes."""

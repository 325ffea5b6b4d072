"""Where a database's relations live and its rules run: this process, or several nodes."""

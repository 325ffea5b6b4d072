"""What active rules do outside of the database, after a version.

Each is a function of an event that may be called again with the same one: after a failure, or after a crash before it
was acknowledged.

- `call`: a Python function, once a row
- `append`: one more file in a folder, once a version
- `run`: a command that gets the rows
"""

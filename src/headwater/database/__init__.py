"""The database: definitions and changes in, views and their changes out.

A version is applied whole or not at all. With a path, a version is on the disk before it is acknowledged.
"""

from headwater.database.database import Database

__all__ = ["Database"]

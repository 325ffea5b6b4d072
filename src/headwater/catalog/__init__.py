"""What is defined: texts, the types that rows told, and the rules that follow, as data that never changes."""

from headwater.catalog.catalog import Catalog

__all__ = ["Catalog"]

"""Schema mappings between peers, their trust conditions, and the program that both come to.

`parse` makes `Mappings` of a text, `parse_policy` makes trust conditions, `compiled` makes a `Program` of them.
"""

from headwater.language.mappings.compile import compiled
from headwater.language.mappings.parser import parse, parse_policy

__all__ = ["compiled", "parse", "parse_policy"]

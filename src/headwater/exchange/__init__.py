"""Update exchange between peers: who edits what, what travels, and what each peer makes of it.

Green, Karvounarakis, Ives, Tannen: Update Exchange with Mappings and Provenance (VLDB 2007).

The package is called as a function too, `headwater.exchange(...)`: otherwise whoever imports a module of it would
hide the function of that name.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _ExchangePackage(ModuleType):
    """This package, which opens a confederation when it is called."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        from headwater.exchange.opening import exchange

        return exchange(*args, **options)


sys.modules[__name__].__class__ = _ExchangePackage

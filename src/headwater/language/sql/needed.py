"""sqlglot, which reads and writes texts: an error that says how to install it where it is not."""

from __future__ import annotations

from headwater.errors import MissingExtra

try:
    from sqlglot import exp
except ImportError:
    raise MissingExtra(
        "missing-extra", "sqlglot is not installed", hint="pip install 'headwater[sketch]'"
    ) from None

__all__ = ["exp"]

"""Errors as messages, and back."""

from __future__ import annotations

from headwater import errors
from headwater.errors import HeadwaterError
from headwater.nodes.messages.outcomes import Fault

INTERRUPTED = "KeyboardInterrupt"


def fault_of(error: BaseException) -> Fault:
    """An error of ours as it is, Ctrl-C, or what another error says."""
    if isinstance(error, HeadwaterError):
        return Fault(type(error).__name__, error.code, error.message, error.place, error.hint)
    if isinstance(error, KeyboardInterrupt):
        return Fault(INTERRUPTED, "interrupted", "")
    return Fault("Exception", "on-a-node", f"{type(error).__name__}: {error}")


def error_of(fault: Fault) -> BaseException:
    """The error from what `fault_of` gave."""
    if fault.kind == INTERRUPTED:
        return KeyboardInterrupt()
    kind = getattr(errors, fault.kind, None)
    if isinstance(kind, type) and issubclass(kind, HeadwaterError):
        return kind(fault.code, fault.message, place=fault.place, hint=fault.hint)
    return RuntimeError(f"on a node: {fault.message}")

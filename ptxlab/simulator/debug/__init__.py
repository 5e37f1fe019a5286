"""A launch that one steps through, forwards and backwards: `Kernel.debug` gives a `DebugSession`."""

from .debug_session import DebugSession

__all__ = ["DebugSession"]

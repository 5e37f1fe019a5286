"""The command line: the ten-second answer."""

from .app import main

__all__ = ["main"]

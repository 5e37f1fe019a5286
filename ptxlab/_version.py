"""The version: stated here, read by the build, the package and whoever shows it."""

__all__ = ["__version__"]

__version__ = "0.1.0"

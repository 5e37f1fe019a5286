"""Helpers that know nothing of PTX: files and user folders, progress bars, threads."""

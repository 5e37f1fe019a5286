"""Helpers that know nothing of PTX: checks of arguments, files and user folders, progress bars, threads."""

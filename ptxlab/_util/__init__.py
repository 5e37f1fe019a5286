"""Helpers that know nothing of PTX: progress bars, threads, files."""

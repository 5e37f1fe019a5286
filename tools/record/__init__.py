"""Recorders: what hardware, assemblers and compilers give, kept for the tests."""

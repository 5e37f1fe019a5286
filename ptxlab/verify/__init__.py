"""Inputs that expose differences between emulator and GPU, and the search for them."""

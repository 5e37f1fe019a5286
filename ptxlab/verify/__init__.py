"""Inputs on which emulator and GPU may differ, and the search for such differences."""

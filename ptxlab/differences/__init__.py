"""The smallest inputs on which two sides differ: two chips, or the emulator and a GPU."""

"""The static site: reference pages made from the catalogue, and the hand-written pages beside this file. Build it with `make docs`."""

"""Why the bits of two launches differ: the tree of operations by which each element is made.

`hashing.py` says what a history is, `histories.py` keeps one for every value of a launch, `run.py` has a
launch and the fingerprints of what it writes, `invariant.py` compares those of several, `compare.py` finds
the first operations that differ.
"""

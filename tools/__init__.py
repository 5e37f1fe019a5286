"""What developers run: recorders of what GPUs and compilers do, long searches, writers of documents.

Each is started with ``python -m tools.NAME``; users of ptxlab need none of them. Tests may import tools.
Tools import no tests, except `homework`, which takes the model solutions from there.
"""

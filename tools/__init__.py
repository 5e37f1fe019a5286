"""What developers run: recorders of what GPUs and compilers do, searches over the whole catalogue, and writers of documents.

Each is started with ``python -m tools.NAME``; users of ptxlab need none of them. Tests may import tools; tools import no tests,
except `homework`, which takes the model solutions from there.
"""

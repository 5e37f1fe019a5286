"""The course behind the notebooks: lessons, exercises, their checks, and the reader's progress.

Each lesson has a module here with its exercises. Users import `ptxlab.lessons`.
"""

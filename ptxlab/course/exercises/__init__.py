"""A module for each lesson: the checks of its exercises with their hints, and what its notebook shows.

Its first line says which lesson it is; `ptxlab.course.syllabus` imports all of them.
"""

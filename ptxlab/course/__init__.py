"""The course behind the notebooks: how answers are read and checked, the syllabus, and the reader's progress.

Each lesson has a module with its exercises in `ptxlab.course.exercises`. Users import `ptxlab.lessons`.
"""

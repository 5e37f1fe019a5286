"""A module for each lesson, named after its notebook: its checks with their hints, and what the lesson shows.

`ptxlab.course.syllabus` imports them all.
"""

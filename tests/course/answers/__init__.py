"""Answers to the exercises, a module for each lesson."""

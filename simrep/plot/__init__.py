"""Figures: the result of a run, and a study of measured against simulated cells.

Importing this package does not import matplotlib; drawing does.
"""

"""Figures: the result of a run, and a dataset of measured against simulated cells.

Importing this package does not import matplotlib; drawing does.
"""

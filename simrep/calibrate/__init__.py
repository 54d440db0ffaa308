"""Fitting local costs to measured cells."""

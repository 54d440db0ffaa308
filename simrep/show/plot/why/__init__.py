"""Figures of explanations: one transaction in time and space, its film, and the slowest ones."""

"""Measurements: datasets, what is predicted of them, and how well."""

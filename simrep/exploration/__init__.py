"""Sliders over a scenario, and what they do at once."""

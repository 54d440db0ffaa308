"""Inverse questions: which value of a scenario meets an objective, a file for each question."""

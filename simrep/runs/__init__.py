"""Running a scenario: replications, their figures, and how sure they are."""

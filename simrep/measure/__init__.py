"""What is counted while a simulation runs, and statistics over runs."""

"""What-if questions: many scenarios, simulated and compared."""

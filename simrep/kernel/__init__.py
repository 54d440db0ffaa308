"""The clock, stations, monitors, random streams and traces."""

"""A scenario and a first pack from what a server says of itself."""

"""The command line; loads lazily, may import everything, nothing imports it."""

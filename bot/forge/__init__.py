"""A stand-in for GitHub: its own process, loopback only, for the demo and the tests."""

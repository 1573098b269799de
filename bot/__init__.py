"""The control side: holds every secret, never runs a repository's code."""

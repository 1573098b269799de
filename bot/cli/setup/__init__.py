"""`kernelgate setup`: the GitHub App by its manifest flow."""

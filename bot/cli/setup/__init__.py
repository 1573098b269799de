"""`kernelgate setup`: the GitHub App by its manifest flow."""

from bot.cli.setup.command import setup

__all__ = ["setup"]

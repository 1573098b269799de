"""`kernelgate demo`: the whole system on one machine, on six sample pull requests."""

from bot.cli.demo.command import demo

__all__ = ["demo"]

"""The hidden marker by which we know a comment of ours again."""

from __future__ import annotations

from bot.core.records import Post

MARK = "<!-- kernelgate:"


def marker(post: Post) -> str:
    """Holds an id that nobody can guess, so that only a comment of ours (or a later copy) carries it."""
    return f"{MARK}{post.item}:{post.id} -->"

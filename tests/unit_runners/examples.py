"""How many examples a property gets: about a hundred as a rule, thousands with `--hypothesis-profile=large`."""

from __future__ import annotations

from hypothesis import settings


def examples(least: int = 100, share: int = 10) -> settings:
    """One in `share` of the examples of the profile in use (`ci` has 100, `large` 100,000), and never fewer than `least`."""
    return settings(max_examples=max(least, settings().max_examples // share))

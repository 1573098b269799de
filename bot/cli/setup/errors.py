"""Why the App could not be set up."""

from __future__ import annotations

import click


class SetupError(click.ClickException):
    """Set-up ends here: one line with the remedy, and exit 2."""

    exit_code = 2

"""The files that hold the App's key and its webhook secret: written once, for their owner's eyes, over nothing."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from bot.cli.setup.errors import SetupError


@dataclass(frozen=True)
class KeyFiles:
    folder: Path

    @property
    def key(self) -> Path:
        return self.folder / "app.pem"

    @property
    def secret(self) -> Path:
        return self.folder / "webhook"

    def prepare(self) -> None:
        """Make the folder; SetupError where the files could not be written, or are there already."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise SetupError(f"{self.folder} can't be made: {error.strerror}; name another with --folder") from error
        if not os.access(self.folder, os.W_OK | os.X_OK):
            raise SetupError(f"{self.folder} can't be written to; name another with --folder")
        if there := [str(file) for file in (self.key, self.secret) if os.path.lexists(file)]:
            raise SetupError(f"there is an App already: {' and '.join(there)}; move them away, or name another folder with --folder")

    def write(self, key: str, secret: str) -> None:
        """SetupError where a file can't be written, or came to be since `prepare`."""
        for file, text in ((self.key, key), (self.secret, secret)):
            try:
                with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
                    stream.write(f"{text.strip()}\n")
            except OSError as error:
                raise SetupError(f"{file} can't be written: {error.strerror}") from error

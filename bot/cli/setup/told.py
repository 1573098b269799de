"""What setup says, from templates/setup."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

TEMPLATES = Path(__file__).resolve().parents[3] / "templates" / "setup"
ENVIRONMENT = Environment(
    loader=FileSystemLoader(TEMPLATES),
    undefined=StrictUndefined,
    autoescape=select_autoescape(["html.j2"]),
    trim_blocks=True,
    lstrip_blocks=True,
)


def told(template: str, **facts: Any) -> str:
    """The template filled in; those whose names end in html.j2 escape what they are given."""
    return ENVIRONMENT.get_template(template).render(**facts)

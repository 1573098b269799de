"""Frozen values to JSON columns and back."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar

from pydantic import TypeAdapter

T = TypeVar("T")


@cache
def _adapter(kind: type[T]) -> TypeAdapter[T]:
    return TypeAdapter(kind)


def to_json(value: Any) -> Any:
    """Plain data of a frozen value."""
    return _adapter(type(value)).dump_python(value, mode="json")


def from_json(kind: type[T], data: Any) -> T:
    """The frozen value again."""
    return _adapter(kind).validate_python(data)

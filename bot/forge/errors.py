"""Refusals in GitHub's shape."""

from __future__ import annotations

from typing import Any

DOCUMENTATION = "https://docs.github.com/rest"


class ApiError(Exception):
    """An answer other than success; `errors` are GitHub's per-field findings of a 422."""

    def __init__(
        self, status: int, message: str, errors: list[dict[str, str]] | None = None, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.errors = errors
        self.headers = headers or {}

    def body(self) -> dict[str, Any]:
        told: dict[str, Any] = {"message": self.message, "documentation_url": DOCUMENTATION, "status": str(self.status)}
        return told | ({"errors": self.errors} if self.errors else {})


class Moved(ApiError):
    """The repository has another name now."""

    def __init__(self, location: str) -> None:
        super().__init__(301, "Moved Permanently", headers={"Location": location})
        self.location = location

    def body(self) -> dict[str, Any]:
        return {"message": self.message, "url": self.location, "documentation_url": DOCUMENTATION}


def not_found() -> ApiError:
    return ApiError(404, "Not Found")


def invalid(resource: str, field: str, code: str = "invalid", message: str = "") -> ApiError:
    return ApiError(422, "Validation Failed", [{"resource": resource, "field": field, "code": code, "message": message}])

"""A Flask request and answer in the shape openapi-core reads; path arguments with slashes stay one argument."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

from flask import Request, Response
from openapi_core.datatypes import RequestParameters
from werkzeug.datastructures import Headers, ImmutableMultiDict

PREFIX = "/api/v3"
HOST = "http://forge.invalid"  # never resolved: it only joins a call's path to the description's server
SERVER = HOST + PREFIX


def pattern_of(rule: str) -> str:
    """GitHub's spelling of one of our routes: `/api/v3/repos/<owner>` is `/repos/{owner}`.

    The top folder's contents have no path of their own in the description: there it is a folder like any other.
    """
    pattern = re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.removeprefix(PREFIX))
    return f"{pattern}{{path}}" if pattern.endswith("/") else pattern


class Call:
    def __init__(self, request: Request) -> None:
        assert request.url_rule is not None
        self.pattern = pattern_of(request.url_rule.rule)
        values: dict[str, Any] = {"path": ".", **(request.view_args or {})}
        filled = self.pattern.format(**{name: quote(str(value), safe="") for name, value in values.items()})
        self.host_url = HOST
        self.path = PREFIX + filled
        self.method = request.method.lower()
        self.body = request.get_data() or None
        self.content_type = request.content_type or "application/json"  # GitHub reads every body as JSON
        self.parameters = RequestParameters(
            query=ImmutableMultiDict(request.args), header=Headers(request.headers), cookie=ImmutableMultiDict()
        )


class Answer:
    def __init__(self, response: Response) -> None:
        self.status_code = response.status_code
        self.content_type = response.mimetype or ""
        self.headers = response.headers
        self.data = response.get_data() or None

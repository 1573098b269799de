"""GitHub's own OpenAPI description: checks every request and answer, and fills an answer's fields we keep no state for."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from openapi_core import Config, OpenAPI
from openapi_core.exceptions import OpenAPIError
from openapi_core.validation.response.exceptions import DataValidationError
from openapi_schema_validator import OAS30Validator

from bot.forge.wire import SERVER, Answer, Call

FILE = Path(__file__).with_name("github.json")
NEUTRAL: dict[str, Any] = {"string": "", "integer": 0, "number": 0, "boolean": False, "array": []}


class Description:
    def __init__(self, file: Path = FILE) -> None:
        self.document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        self.document["servers"] = [{"url": SERVER}]

    @cached_property
    def core(self) -> OpenAPI:
        document = {key: value for key, value in self.document.items() if key != "x-webhooks"}
        return OpenAPI.from_dict(document, config=Config(spec_validator_cls=None))

    def request_fault(self, call: Call) -> str | None:
        """What GitHub would refuse about this request, or None."""
        try:
            self.core.validate_request(call)
        except OpenAPIError as error:
            return told(error)
        return None

    def answer_fault(self, call: Call, answer: Answer) -> str | None:
        """Where our answer departs from GitHub's description, or None."""
        try:
            self.core.validate_response(call, answer)
        except OpenAPIError as error:
            return told(error)
        return None

    def refusal_fault(self, body: Any) -> str | None:
        """Where a refusal departs from the one shape that they all have, or None."""
        if not isinstance(body, dict) or not body.get("message"):
            return "a refusal without a message"
        validator = OAS30Validator({**self.document["components"]["schemas"]["basic-error"], "components": self.document["components"]})
        return next((spot(error) for error in validator.iter_errors(body)), None)

    def payload_fault(self, event: str, payload: Any) -> str | None:
        """Where a webhook's payload departs from the description, or None."""
        validator = OAS30Validator({**self.payload_schema(event), "components": self.document["components"]})
        return next((f"{event}: {spot(error)}" for error in validator.iter_errors(payload)), None)

    def permissions_fault(self, permissions: dict[str, Any]) -> str | None:
        """The first permission that an App can't have, or None."""
        known = self.document["components"]["schemas"]["app-permissions"]["properties"]
        bad = next((name for name, level in permissions.items() if level not in known.get(name, {}).get("enum", ())), None)
        return f"{bad}: {permissions[bad]} is no permission" if bad else None

    def payload_schema(self, event: str) -> dict[str, Any]:
        body = self.document["x-webhooks"][event]["post"]["requestBody"]
        schema: dict[str, Any] = body["content"]["application/json"]["schema"]
        return schema

    def answer_schema(self, pattern: str, verb: str, status: int) -> dict[str, Any]:
        """Schema of a call's answer; empty where the description has none."""
        answers = self.document["paths"].get(pattern, {}).get(verb, {}).get("responses", {})
        answer = self.resolve(answers.get(str(status), {}))
        schema: dict[str, Any] = answer.get("content", {}).get("application/json", {}).get("schema", {})
        return schema

    def describes(self, pattern: str, verb: str, status: int) -> bool:
        return str(status) in self.document["paths"].get(pattern, {}).get(verb, {}).get("responses", {})

    def resolve(self, node: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in node:
            _, _, kind, name = node["$ref"].split("/")
            node = self.document["components"][kind][name]
        return node

    def complete(self, schema: dict[str, Any], value: Any, base: str) -> Any:
        """The value with every required field it lacks, neutral by its type; urls hang under `base`."""
        schema = self.resolve(schema)
        for part in schema.get("allOf", []):
            value = self.complete(part, value, base)
        for option in self.fitting(schema, value):
            value = self.complete(option, value, base)
        if isinstance(value, dict):
            return self.complete_object(schema, value, base)
        if isinstance(value, list) and "items" in schema:
            return [self.complete(schema["items"], item, base) for item in value]
        return value

    def complete_object(self, schema: dict[str, Any], value: dict[str, Any], base: str) -> dict[str, Any]:
        known = schema.get("properties", {})
        base = value.get("url") or base
        missing = {name: self.neutral(known.get(name, {}), name, base) for name in schema.get("required", []) if name not in value}
        return missing | {name: self.complete(known.get(name, {}), item, base) for name, item in value.items()}

    def fitting(self, schema: dict[str, Any], value: Any) -> Iterator[dict[str, Any]]:
        """The alternative that the value names by its discriminator, or the first of the value's own kind."""
        kind = "object" if isinstance(value, dict) else "array" if isinstance(value, list) else ""
        named = schema.get("discriminator", {})
        if isinstance(value, dict) and (chosen := named.get("mapping", {}).get(value.get(named.get("propertyName")))):
            yield self.resolve({"$ref": chosen})
            return
        options = [self.resolve(option) for option in schema.get("anyOf", schema.get("oneOf", []))]
        yield from [option for option in options if kind and option.get("type", "object") == kind][:1]

    def neutral(self, schema: dict[str, Any], name: str, base: str) -> Any:
        schema = self.resolve(schema)
        if schema.get("nullable"):
            return None
        if "default" in schema or "enum" in schema:
            return schema.get("default", schema.get("enum", [None])[0])
        if options := schema.get("anyOf", schema.get("oneOf", schema.get("allOf"))):
            return self.neutral(options[0], name, base)
        if name.endswith("url") or schema.get("format") == "uri":
            return f"{base}/{name.removesuffix('_url')}"
        if schema.get("format") == "date-time":
            return "1970-01-01T00:00:00Z"
        if "properties" in schema:
            return self.complete(schema, {}, base)
        return copy.copy(NEUTRAL.get(schema.get("type", ""), {}))


def spot(error: Any) -> str:
    """Where and what, of one schema error."""
    while error.context:
        error = max(error.context, key=lambda inner: len(inner.absolute_path))
    place = "/".join(str(step) for step in error.absolute_path)
    return f"{place or 'body'}: {error.message[:300]}"


def told(error: OpenAPIError) -> str:
    """One line that names the place, from openapi-core's nested errors."""
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    if faults := getattr(cause, "schema_errors", None):
        return "; ".join(spot(fault) for fault in faults)
    return f"{type(error).__name__}: {cause}" if not isinstance(error, DataValidationError) else str(cause)

"""The code that GitHub sends back, exchanged for the App's number, key and webhook secret."""

from __future__ import annotations

import requests
from github import Github, GithubException
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from bot.adapters.github_clients import RETRY, TIMEOUT
from bot.cli.setup.errors import SetupError


class Registered(BaseModel):
    """What GitHub tells an App's maker, once."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    id: int
    name: str
    html_url: str
    pem: SecretStr = Field(min_length=1)
    webhook_secret: SecretStr = Field(min_length=1)


def exchange(api: str, code: str) -> Registered:
    """SetupError where GitHub does not take the code, or is not reached; a code is good for one exchange within an hour."""
    github = Github(base_url=api, timeout=TIMEOUT, retry=RETRY)
    try:
        _, answer = github.requester.requestJsonAndCheck("POST", f"/app-manifests/{code}/conversions")
        return Registered.model_validate(answer)
    except ValidationError as error:
        lacking = ", ".join(str(one["loc"][0]) for one in error.errors())
        raise SetupError(f"GitHub made the App, but did not tell: {lacking}") from error
    except GithubException as error:
        why = "its code was used before, or is older than an hour" if error.status == 404 else error.message or "no reason given"
        raise SetupError(f"GitHub did not give the App's key: {error.status}, {why}") from error
    except (requests.RequestException, ValueError) as error:
        raise SetupError(f"GitHub did not give the App's key: {type(error).__name__} at {api}") from error
    finally:
        github.close()

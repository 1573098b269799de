"""Git over smart HTTP: git's own http-backend behind a CGI bridge; a push is announced as GitHub would."""

from __future__ import annotations

import os
import subprocess

from flask import Blueprint, Response, request

from bot.forge import git
from bot.forge import service as forge
from bot.forge.errors import ApiError
from bot.forge.world import Repository

routes = Blueprint("git", __name__)
LONGEST = 600  # seconds for one fetch or push


@routes.route("/<owner>/<repo>.git/<path:rest>", methods=["GET", "POST"])
def serve(owner: str, repo: str, rest: str) -> Response:
    """Anybody fetches what they may see, with any SHA; a push needs write permission."""
    try:
        repository = forge.repository(owner, repo)
        pushing = "git-receive-pack" in (rest, request.args.get("service"))
        login = forge.writer(repository).login if pushing else forge.actor().login
    except ApiError as error:
        if error.status != 401:
            raise
        return Response("Authentication required", 401, {"WWW-Authenticate": 'Basic realm="forge"'})
    before = git.refs(repository.path)
    response = backend(repository, rest, login)
    if rest == "git-receive-pack":
        forge.service().actions.pushed(repository, before, login)
    return response


def environment(repository: Repository, rest: str, login: str) -> dict[str, str]:
    told = {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "GIT_PROJECT_ROOT": str(repository.path),
        "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_INFO": f"/{rest}",
        "QUERY_STRING": request.query_string.decode(),
        "REQUEST_METHOD": request.method,
        "CONTENT_TYPE": request.content_type or "",
        "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
        "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
        "REMOTE_ADDR": request.remote_addr or "",
    }
    settings = {"http.receivepack": "true", "uploadpack.allowAnySHA1InWant": "true", "safe.directory": "*"}
    told |= {f"GIT_CONFIG_KEY_{at}": key for at, key in enumerate(settings)}
    told |= {f"GIT_CONFIG_VALUE_{at}": value for at, value in enumerate(settings.values())}
    told |= {"GIT_CONFIG_COUNT": str(len(settings))} | git.ISOLATED
    return told | ({"REMOTE_USER": login} if login else {})


def backend(repository: Repository, rest: str, login: str) -> Response:
    """Run git http-backend on this request and pass on what it says."""
    body = request.get_data()
    environ = environment(repository, rest, login) | {"CONTENT_LENGTH": str(len(body))}
    done = subprocess.run(["git", "http-backend"], input=body, env=environ, capture_output=True, timeout=LONGEST, check=False)
    head, _, content = done.stdout.partition(b"\r\n\r\n")
    told: dict[str, str] = {}
    for line in head.decode("latin-1").split("\r\n"):
        name, _, value = line.partition(": ")
        told[name] = value
    told.pop("", None)
    status = int(told.pop("Status", "200" if head else "500").split()[0])
    return Response(content, status, told)

"""A forge on a free port of 127.0.0.1, to run in the foreground or on a thread."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any

from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

from bot.forge.app import create_app
from bot.forge.service import Service
from bot.forge.world import World

HOST = "127.0.0.1"


class Quiet(WSGIRequestHandler):
    """Keeps connections open, as GitHub does, and writes no line per request."""

    protocol_version = "HTTP/1.1"

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None: ...


class Forge:
    """Bound on creation, so that the world knows its own address before the first request."""

    def __init__(self, world: World, port: int = 0) -> None:
        self.world = world
        self.app = create_app(world)
        self.service: Service = self.app.extensions["forge"]
        self.server: BaseWSGIServer = make_server(HOST, port, self.app, threaded=True, request_handler=Quiet)
        world.url = f"http://{HOST}:{self.server.server_port}"

    def open_pulls(self, pulls: list[dict[str, Any]]) -> None:
        """Pulls that are there before anybody listens: opened, and told to no hook."""
        hooks, self.world.hooks = self.world.hooks, []
        for told in sorted(pulls, key=lambda pull: int(pull["number"])):
            repository = self.world.repositories[told["repository"]]
            content = (told["head"], told.get("base", repository.default_branch), told["title"], told.get("body", ""))
            self.service.actions.open_pull(repository, told["author"], *content, draft=False)
        self.world.hooks = hooks

    def serve(self) -> None:
        self.server.serve_forever(poll_interval=0.05)

    def __enter__(self) -> Forge:
        threading.Thread(target=self.serve, daemon=True, name="forge").start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.service.courier.close()
        self.server.shutdown()
        self.server.server_close()

"""A page on this machine: it sends a person to GitHub with the manifest, and takes the code with which they come back."""

from __future__ import annotations

import hmac
import json
import queue
import re
import secrets
import socket
import threading
from types import TracebackType
from typing import Any

from flask import Flask, Response, abort, request
from werkzeug.serving import WSGIRequestHandler, make_server

from bot.cli.setup.errors import SetupError
from bot.cli.setup.told import told

HOST = "127.0.0.1"
BACK = "/made"
CODE = re.compile(r"[\w-]{1,200}", re.ASCII)
PATIENCE = 10.0  # seconds for the last page to reach the browser


class Silent(WSGIRequestHandler):
    """Writes no line per request: its line would show the code and the state."""

    def log(self, type: str, message: str, *args: Any) -> None: ...


class Desk:
    """Bound on creation, so that the manifest can name its address; served between enter and exit."""

    def __init__(self, port: int) -> None:
        try:
            self._socket = socket.create_server((HOST, port))
        except OSError as error:
            raise SetupError(f"port {port} of {HOST} can't be taken: {error.strerror}; choose another with --port") from error
        self.port: int = self._socket.getsockname()[1]
        self.address = f"http://{HOST}:{self.port}"
        self.state = secrets.token_urlsafe(32)
        self._names = (f"{HOST}:{self.port}", f"localhost:{self.port}")
        self._form = ""
        self._taken = threading.Lock()
        self._codes: queue.Queue[str] = queue.Queue()
        self._answers: queue.Queue[Response] = queue.Queue()
        self._shown = threading.Event()
        self._server = make_server(HOST, self.port, self._app(), threaded=True, request_handler=Silent, fd=self._socket.fileno())

    def offer(self, registration: str, manifest: dict[str, Any]) -> None:
        """What the page's button sends, and where to."""
        self._form = told("page.html.j2", registration=registration, manifest=json.dumps(manifest), name=manifest["name"])

    def code(self) -> str:
        """Wait for the code that GitHub sends with this desk's state."""
        return self._codes.get()

    def answer(self, page: str, status: int = 200) -> None:
        """What the person who came back is shown; returns once it was sent."""
        self._answers.put(Response(page, status))
        self._shown.wait(PATIENCE)

    def _app(self) -> Flask:
        app = Flask(__name__, static_folder=None)
        app.before_request(self._by_own_name)
        app.add_url_rule("/", view_func=lambda: self._form, endpoint="form")
        app.add_url_rule(BACK, view_func=self._back, endpoint="back")
        return app

    def _by_own_name(self) -> None:
        """Another site's name may be made to lead here; its pages are to read nothing."""
        if request.host not in self._names:
            abort(403)

    def _back(self) -> Response:
        code, state = request.args.get("code", ""), request.args.get("state", "")
        fits = hmac.compare_digest(state.encode(), self.state.encode()) and CODE.fullmatch(code)
        if not fits or not self._taken.acquire(blocking=False):  # never given back: the first code is the one
            return Response(told("stranger.html.j2", address=self.address), 400)
        self._codes.put(code)
        response = self._answers.get()
        response.call_on_close(self._shown.set)
        return response

    def __enter__(self) -> Desk:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True, name="desk").start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._socket.close()

"""The web process: it stores webhooks, serves nodes and pages, and decides nothing."""

from __future__ import annotations

import logging

from flask import Blueprint, Flask, Response, jsonify, request
from sqlalchemy.exc import OperationalError

from bot.adapters.github import GitHubApi
from bot.adapters.queue import Alarm, ping
from bot.adapters.store import Store, is_current, open_store
from bot.core.errors import Refused
from bot.core.events import EventKind, read_event
from bot.flow.ports import BrokerDown
from bot.node_api import HARNESS, node_api
from bot.pages import nodes, runs
from bot.settings import Settings
from bot.wiring import PublicRuns

MOST_WEBHOOK_BYTES = 25 * 1024 * 1024
KEPT_HEADERS = ("X-GitHub-Delivery", "X-GitHub-Event", "X-GitHub-Hook-ID", "X-GitHub-Hook-Installation-Target-ID")
log = logging.getLogger(__name__)


def create_app(settings: Settings | None = None, store: Store | None = None) -> Flask:
    """The application; gunicorn calls it once in each worker."""
    settings = settings or Settings()
    store, alarm = store or open_store(settings.database), Alarm(settings.broker)
    app = Flask(__name__, static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = MOST_WEBHOOK_BYTES + 1  # a body without a length is cut there: one byte more tells it apart
    app.register_error_handler(OperationalError, _busy)
    app.register_blueprint(_hook(settings, store, alarm))
    app.register_blueprint(_health(settings, store))
    app.register_blueprint(node_api(store, GitHubApi(settings).fetch_token, alarm.wake))
    app.register_blueprint(runs.blueprint(PublicRuns(store)))
    app.register_blueprint(nodes.blueprint(store.nodes.all, store.baselines.missing, store.nodes.clock, HARNESS))
    return app


def _hook(settings: Settings, store: Store, alarm: Alarm) -> Blueprint:
    hook = Blueprint("hook", __name__)

    @hook.post("/webhook")
    def webhook() -> tuple[Response, int]:
        body = request.get_data(cache=False)
        if (request.content_length or len(body)) > MOST_WEBHOOK_BYTES:
            return jsonify(error="more than 25 MB"), 413
        try:
            event = read_event(request.headers, body, settings.secrets)
        except Refused as refused:
            return jsonify(error=refused.reason), refused.status
        if event.kind is EventKind.PING:
            return jsonify(pong=True), 200
        kept = {name: request.headers[name] for name in KEPT_HEADERS if name in request.headers}
        fresh = store.deliveries.add(event.delivery, kept, body)
        if fresh:
            alarm.wake()
        return jsonify(delivery=event.delivery, duplicate=not fresh), 202

    return hook


def _health(settings: Settings, store: Store) -> Blueprint:
    health = Blueprint("health", __name__)

    @health.get("/health")
    def alive() -> Response:
        return jsonify(ok=True)

    @health.get("/ready")
    def ready() -> tuple[Response, int]:
        """Whether a webhook would be kept: the database decides; a broker that is down only slows things."""
        current = is_current(store.db.engine)
        return jsonify(database=current, broker=_broker_answers(settings.broker)), 200 if current else 503

    return health


def _broker_answers(broker: str) -> bool:
    try:
        ping(broker)
    except BrokerDown:
        return False
    return True


def _busy(error: OperationalError) -> tuple[Response, int]:
    """The database can't take it now: GitHub marks the delivery failed and nodes try again."""
    log.error("the database did not answer: %s", error.orig)
    return jsonify(error="the database is not available"), 503

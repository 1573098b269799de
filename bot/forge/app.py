"""The forge's Flask application: the routes, and GitHub's description checked around every one of them."""

from __future__ import annotations

import json

from flask import Flask, Response, g, jsonify, request
from werkzeug.exceptions import HTTPException

from bot.forge import faults, git_http, page, registering
from bot.forge.actions import Actions
from bot.forge.auth import Keys
from bot.forge.description import Description
from bot.forge.errors import ApiError
from bot.forge.events import Herald
from bot.forge.hooks import Courier
from bot.forge.routes import apps, checks, comments, commits, contents, pulls, repositories
from bot.forge.service import Service, service
from bot.forge.wire import PREFIX, Answer, Call
from bot.forge.world import World

LOOPBACK = ("127.0.0.1", "localhost")
INNER = "/_forge"  # for tests: what went wrong here, and what was delivered


def create_app(world: World) -> Flask:
    """The application over one world."""
    app = Flask(__name__, static_folder=None)
    app.extensions["forge"] = assemble(world)
    app.before_request(only_loopback)
    app.before_request(meter)
    app.before_request(check_request)
    app.after_request(answered)
    app.register_error_handler(ApiError, refuse)
    app.register_error_handler(HTTPException, unknown)
    for blueprint in (apps, checks, comments, commits, contents, pulls, repositories):
        app.register_blueprint(blueprint.routes, url_prefix=PREFIX)
    app.register_blueprint(git_http.routes)
    app.register_blueprint(page.routes)
    app.register_blueprint(registering.routes)
    app.add_url_rule(f"{INNER}/violations", view_func=lambda: jsonify(service().world.violations))
    app.add_url_rule(f"{INNER}/deliveries", view_func=deliveries)
    return app


def assemble(world: World) -> Service:
    description = Description()
    courier = Courier(world, description)
    herald = Herald(world, courier)
    return Service(world, description, Keys(world), courier, herald, Actions(world, herald))


def only_loopback() -> None:
    """A page of another site must not reach the box that writes comments: neither by its own name nor across origins.

    It may send a manifest, which changes nothing: the page that shows it has the button.
    """
    if request.host.rsplit(":", 1)[0] not in LOOPBACK:
        raise ApiError(403, "The forge answers to its loopback address only")
    origin = request.headers.get("Origin")
    if origin and origin != request.host_url.rstrip("/") and request.endpoint != registering.FROM_ANYWHERE:
        raise ApiError(403, "The forge takes no request from another site's page")


def meter() -> None:
    """GitHub's limits for everybody; the next entry of the fault plan for the App."""
    g.caller, g.fault = "", faults.Fault(faults.Kind.NONE)
    if not request.path.startswith(f"{PREFIX}/") or request.url_rule is None:
        return
    parts = service()
    g.caller = parts.keys.name(request)
    if g.caller == parts.world.bot_login():
        g.fault = parts.world.faults.next()
    faults.before(g.fault)
    parts.world.meter.count(g.caller, request.method)


def check_request() -> None:
    if not request.path.startswith(f"{PREFIX}/") or request.url_rule is None:
        return
    if request.get_data() and not request.is_json and request.method in ("POST", "PATCH", "PUT"):
        request.environ["CONTENT_TYPE"] = "application/json"
    if request.get_data() and not _is_json(request.get_data()):
        raise ApiError(400, "Problems parsing JSON")
    if fault := service().description.request_fault(Call(request)):
        service().world.violations.append(f"request {request.method} {request.path}: {fault}")
        raise ApiError(422, f"Invalid request.\n\n{fault}")


def _is_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except ValueError:
        return False
    return True


def answered(response: Response) -> Response:
    """The answer, checked before and after the fault plan has had its way with it."""
    if not request.path.startswith(f"{PREFIX}/") or request.url_rule is None:
        return response
    response = check_answer(response)
    if (fault := g.get("fault")) and fault.kind in faults.AFTER:
        response = check_answer(faults.after(fault, request, response))
    for name, value in service().world.meter.headers(g.get("caller", "")).items():
        response.headers.setdefault(name, value)
    return response


def check_answer(response: Response) -> Response:
    """An answer GitHub would never give becomes a 500 that says so."""
    if (response.mimetype or "").endswith("raw+json"):
        return response
    call, description = Call(request), service().description
    listed = response.status_code < 400 or description.describes(call.pattern, call.method, response.status_code)
    # The description does not list every refusal of every call; the others have the shape of all.
    fault = description.answer_fault(call, Answer(response)) if listed else description.refusal_fault(response.get_json(silent=True))
    if fault:
        service().world.violations.append(f"answer {request.method} {request.path} {response.status_code}: {fault}")
        return Response(json.dumps({"message": f"The forge's own answer is not GitHub's: {fault}"}), 500, mimetype="application/json")
    return response


def refuse(error: ApiError) -> tuple[Response, int]:
    response = jsonify(error.body())
    response.headers.update(error.headers)
    return response, error.status


def unknown(error: HTTPException) -> tuple[Response, int]:
    if request.path.startswith(f"{PREFIX}/"):
        service().world.violations.append(f"request {request.method} {request.path}: not a call the forge knows")
        return jsonify(ApiError(404, "Not Found").body()), 404
    return jsonify({"message": error.description}), error.code or 500


def deliveries() -> Response:
    """Every delivery with its payload, oldest first."""
    log = list(service().world.deliveries.values())
    return jsonify([_delivery(one.__dict__) for one in log])


def _delivery(fields: dict[str, object]) -> dict[str, object]:
    body = fields["body"]
    assert isinstance(body, bytes)
    return {**fields, "body": body.decode()}

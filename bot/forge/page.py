"""The pages a person opens: the list of pulls, and one pull with its talk, its checks and a box to write in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nh3
from flask import Blueprint, Response, redirect, request, url_for
from jinja2 import Environment, FileSystemLoader, select_autoescape
from markdown_it import MarkdownIt
from markupsafe import Markup
from werkzeug.wrappers import Response as Answer

from bot.forge import git
from bot.forge import service as forge
from bot.forge.world import CheckRun, Comment, Pull, Repository, World

routes = Blueprint("pages", __name__)
TEMPLATES = Path(__file__).resolve().parents[2] / "templates" / "forge"
EMOJI = {"+1": "👍", "-1": "👎", "laugh": "😄", "confused": "😕", "heart": "❤️", "hooray": "🎉", "eyes": "👀", "rocket": "🚀"}
TAGS = """a b blockquote br code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i img ins kbd li ol p pre s samp span strike strong
sub summary sup table tbody td th thead tr tt ul var"""
ALIGNED = {"align"}
ATTRIBUTES = {"a": {"href"}, "img": {"src", "alt"}, "details": {"open"}, "th": ALIGNED, "td": ALIGNED, "ol": {"start"}}
MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def rendered(text: str) -> Markup:
    """Markdown as GitHub shows it: its tables and folds, and no HTML outside GitHub's list of tags."""
    html = MARKDOWN.render(text).replace('style="text-align:', 'align="')
    return Markup(nh3.clean(html, tags=set(TAGS.split()), attributes=ATTRIBUTES, url_schemes={"http", "https", "mailto"}))


def environment() -> Environment:
    made = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=select_autoescape(default=True), trim_blocks=True, lstrip_blocks=True)
    made.filters["markdown"] = rendered
    return made


ENVIRONMENT = environment()


@routes.get("/")
def index() -> str:
    world = forge.service().world
    pulls = sorted(world.pulls.values(), key=lambda one: (one.repository, one.number))
    return ENVIRONMENT.get_template("index.html.j2").render(pulls=[(one, checks_of(world, one)) for one in pulls])


@routes.get("/<owner>/<repo>/pull/<int:number>")
def pull(owner: str, repo: str, number: int) -> str:
    world, found, repository = forge.service().world, forge.pull(owner, repo, number), forge.repository(owner, repo)
    comments = [(one, gathered(world, one)) for one in world.comments_of(found.repository, found.number)]
    return ENVIRONMENT.get_template("pull.html.j2").render(
        pull=found,
        repository=repository,
        comments=comments,
        checks=checks_of(world, found),
        people=[(login, repository.role(login)) for login in sorted(set(world.tokens.values()))],
        bot=world.bot_login(),
        files=changed(repository, found),
        moving=any(one.fields["status"] != "completed" for one in checks_of(world, found)),
    )


def changed(repository: Repository, one: Pull) -> list[git.FileChange]:
    root = git.merge_base(repository.path, one.base_ref, one.head_sha)
    return git.changes(repository.path, root, one.head_sha)


def checks_of(world: World, one: Pull) -> list[CheckRun]:
    """The newest check of each name on the pull's head."""
    newest = {check.name: check for check in world.checks_on(one.repository, one.head_sha)}
    return list(newest.values())


def gathered(world: World, one: Comment) -> list[tuple[str, str]]:
    """Each emoji given to a comment, with the names of those who gave it."""
    given: dict[str, list[str]] = {}
    for reaction in world.reactions_to(one.id):
        given.setdefault(EMOJI[reaction.content], []).append(reaction.author)
    return [(emoji, ", ".join(names)) for emoji, names in given.items()]


@routes.post("/<owner>/<repo>/pull/<int:number>/comment")
def write(owner: str, repo: str, number: int) -> Answer:
    """A comment written in the box, as one of the people here."""
    actions, found = forge.service().actions, forge.pull(owner, repo, number)
    text: dict[str, Any] = request.form.to_dict()
    comment = actions.write_comment(found, actions.person(text.get("login", "")), text.get("body", "").replace("\r\n", "\n"))
    return redirect(url_for("pages.pull", owner=owner, repo=repo, number=number) + f"#issuecomment-{comment.id}", 303)


@routes.get("/<owner>/<repo>/runs/<int:number>")
def check(owner: str, repo: str, number: int) -> str | Response:
    found = forge.service().world.checks.get(number)
    if found is None or found.repository != forge.repository(owner, repo).full_name:
        return Response("No such check", 404)
    return ENVIRONMENT.get_template("check.html.j2").render(check=found)

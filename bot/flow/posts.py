"""Outbox to GitHub: each object is rendered from the database when it is sent, and created once."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from bot.core.owners import PLACES, Owners, owners_of
from bot.core.records import AskState, Item, Post
from bot.core.report import Run, load
from bot.flow import showing
from bot.flow.edge import each
from bot.flow.marks import marker
from bot.flow.ports import CheckBody, Declined, Gone, Unavailable, World

CHECK = "kernelgate"
LONGEST_ANSWER = 60_000
SHORTEST_ANSWER = 8_000
LONGEST_WAIT = 600.0
log = logging.getLogger(__name__)


def post_all(world: World) -> None:
    """Bring every object on GitHub up to the database: checks, answers, reactions, cards."""
    for due in world.store.outbox.due(world.card_seconds):
        post = world.store.outbox.begin(due)
        if post is not None:
            each([post], lambda one: _deliver(world, one), lambda one, why: world.store.outbox.failed(one, LONGEST_WAIT, why))


def _deliver(world: World, post: Post) -> None:
    outbox = world.store.outbox
    try:
        remote = SENDERS[post.item](world, post)
    except Unavailable as trouble:
        outbox.failed(post, min(LONGEST_WAIT, trouble.wait * 2 ** min(post.failures, 10)), str(trouble))
    except Gone as gone:
        _missing(world, post, str(gone))
    except Declined as refusal:
        _declined(world, post, str(refusal))
    else:
        outbox.posted(post, remote)


def _missing(world: World, post: Post, why: str) -> None:
    """Somebody deleted it: made anew once. What it belonged to is gone: no more tries."""
    if post.remote_id and not post.renewed:
        world.store.outbox.forget_remote(post)
    else:
        world.store.outbox.give_up(post, why)


def _declined(world: World, post: Post, why: str) -> None:
    """An answer that GitHub finds too long is tried shorter; anything else stays undone, and the operator's log says so."""
    log.warning("GitHub declined %s %s of %s#%s: %s", post.item, post.id, post.repository, post.number, why)
    if post.item is Item.ANSWER and _limit(post) > SHORTEST_ANSWER:
        world.store.outbox.declined(post, why)
    else:
        world.store.outbox.give_up(post, why)


def _limit(post: Post) -> int:
    return max(SHORTEST_ANSWER, LONGEST_ANSWER >> post.declined)


def _comment(world: World, post: Post, text: str) -> str:
    """Create or rewrite a comment; one whose creation may have succeeded unseen is looked for first."""
    body = f"{marker(post)}\n{text}"
    known = post.remote_id or (world.github.find_comment(post.repository, post.number, marker(post)) if post.tried else None)
    if not known:
        return world.github.create_comment(post.repository, post.number, body)
    world.github.edit_comment(post.repository, post.number, known, body)
    return known


def _answer(world: World, post: Post) -> str:
    ask, run = world.store.outbox.ask(post.subject)
    if run is not None and run.report is not None:
        report = load(run.report)
        owners, url = owners_named(world, post.repository, report), showing.run_url(world, run)
        return _comment(world, post, world.words.answer(report, details_url=url, limit=_limit(post), owners=owners))
    return _comment(world, post, showing.reply(world, ask))


def owners_named(world: World, repository: str, report: Run) -> Owners:
    """Whom the base's CODEOWNERS names for a changed judge; the file is asked for only then."""
    if not report.changed_judge:
        return Owners()
    texts = (world.github.file(repository, place, report.base) for place in PLACES)
    return owners_of(next((text for text in texts if text is not None), ""), report.changed_judge)


def _reaction(world: World, post: Post) -> str:
    ask, _ = world.store.outbox.ask(post.subject)
    assert ask.new.comment_id is not None
    content = "confused" if ask.state is AskState.REFUSED else "eyes"
    return world.github.react(post.repository, post.number, ask.new.comment_id, content)


def _card(world: World, post: Post) -> str:
    return _comment(world, post, world.words.card(showing.card(world, *world.store.outbox.card(post.subject))))


def _check(world: World, post: Post) -> str:
    view = world.store.outbox.check(post.subject)
    status, conclusion = showing.check_state(view)
    title, summary = showing.check_text(world, post.repository, post.number, view)
    link, buttons = showing.check_url(world, view), world.words.buttons(is_running=status != "completed")
    body = CheckBody(CHECK, view.sha, post.id, status, conclusion, title, summary, link, showing.check_annotations(world, view))
    if view.runs and post.number:  # a merge group has none: it is queued again
        body = replace(body, actions=buttons)
    known = post.remote_id or (world.github.find_check(post.repository, view.sha, CHECK, post.id) if post.tried else None)
    made = known or world.github.create_check(post.repository, body)
    if known or body.annotations:  # which come by an edit only
        world.github.edit_check(post.repository, made, body)
    return made


SENDERS: dict[Item, Callable[[World, Post], str]] = {
    Item.CHECK: _check,
    Item.ANSWER: _answer,
    Item.REACTION: _reaction,
    Item.CARD: _card,
}

"""Comments on pulls, and reactions to them."""

from __future__ import annotations

from flask import Blueprint, Response, request

from bot.forge import service as forge
from bot.forge.answers import talk
from bot.forge.auth import Actor
from bot.forge.errors import ApiError, not_found
from bot.forge.world import Comment, Reaction, Repository

routes = Blueprint("comments", __name__)
ISSUE = "/repos/<owner>/<repo>/issues/<int:issue_number>"
COMMENT = "/repos/<owner>/<repo>/issues/comments/<int:comment_id>"


@routes.get(ISSUE)
def issue(owner: str, repo: str, issue_number: int) -> Response:
    return forge.answer(talk.issue(forge.service().world, forge.pull(owner, repo, issue_number)))


@routes.get(f"{ISSUE}/comments")
def listed(owner: str, repo: str, issue_number: int) -> Response:
    world, pull = forge.service().world, forge.pull(owner, repo, issue_number)
    since = request.args.get("since", "")
    found = [one for one in world.comments_of(pull.repository, pull.number) if one.updated >= since]
    return forge.page([talk.comment(world, one) for one in found])


@routes.post(f"{ISSUE}/comments")
def create(owner: str, repo: str, issue_number: int) -> Response:
    """Anybody who can see a repository may comment; on a locked pull only its writers."""
    pull, repository = forge.pull(owner, repo, issue_number), forge.repository(owner, repo)
    caller = forge.writer(repository) if pull.locked else forge.signed_in(repository)
    comment = forge.service().actions.write_comment(pull, caller.login, forge.sent()["body"], caller.app)
    return forge.answer(talk.comment(forge.service().world, comment), 201)


def known(owner: str, repo: str, number: int) -> tuple[Repository, Comment]:
    repository = forge.repository(owner, repo)
    comment = forge.service().world.comments.get(number)
    if comment is None or comment.repository != repository.full_name:
        raise not_found()
    return repository, comment


def editor(repository: Repository, comment: Comment) -> Actor:
    """Its author, or anyone with write permission."""
    caller = forge.signed_in(repository)
    if caller.login != comment.author and not caller.may(repository, "write"):
        raise ApiError(403, "Must have admin rights to Repository.")
    return caller


@routes.get(COMMENT)
def get(owner: str, repo: str, comment_id: int) -> Response:
    return forge.answer(talk.comment(forge.service().world, known(owner, repo, comment_id)[1]))


@routes.patch(COMMENT)
def edit(owner: str, repo: str, comment_id: int) -> Response:
    repository, comment = known(owner, repo, comment_id)
    forge.service().actions.edit_comment(comment, editor(repository, comment).login, forge.sent()["body"])
    return forge.answer(talk.comment(forge.service().world, comment))


@routes.delete(COMMENT)
def delete(owner: str, repo: str, comment_id: int) -> Response:
    repository, comment = known(owner, repo, comment_id)
    forge.service().actions.delete_comment(comment, editor(repository, comment).login)
    return Response(status=204)


@routes.get(f"{COMMENT}/reactions")
def reactions(owner: str, repo: str, comment_id: int) -> Response:
    world, comment = forge.service().world, known(owner, repo, comment_id)[1]
    wanted = request.args.get("content")
    found = [one for one in world.reactions_to(comment.id) if wanted in (None, one.content)]
    return forge.page([talk.reaction(world, one) for one in found])


@routes.post(f"{COMMENT}/reactions")
def react(owner: str, repo: str, comment_id: int) -> Response:
    """201, or 200 with the earlier one when the same person gives the same reaction again."""
    repository, comment = known(owner, repo, comment_id)
    caller, world, content = forge.signed_in(repository), forge.service().world, forge.sent()["content"]
    with world.lock:
        given = [one for one in world.reactions_to(comment.id) if (one.author, one.content) == (caller.login, content)]
        one = given[0] if given else Reaction(world.next_id(), comment.id, caller.login, content)
        world.reactions[one.id] = one
    return forge.answer(talk.reaction(world, one), 200 if given else 201)


@routes.delete(f"{COMMENT}/reactions/<int:reaction_id>")
def unreact(owner: str, repo: str, comment_id: int, reaction_id: int) -> Response:
    repository, comment = known(owner, repo, comment_id)
    reaction = forge.service().world.reactions.get(reaction_id)
    if reaction is None or reaction.comment != comment.id:
        raise not_found()
    if forge.signed_in(repository).login != reaction.author:
        raise ApiError(403, "Must be the author of the reaction.")
    del forge.service().world.reactions[reaction_id]
    return Response(status=204)

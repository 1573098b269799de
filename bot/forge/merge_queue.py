"""The merge queue: a branch that holds the base branch with the pulls of a group merged onto it."""

from __future__ import annotations

from bot.forge import git
from bot.forge.answers.accounts import STARTED
from bot.forge.service import Service
from bot.forge.world import Pull


def queue(forge: Service, login: str, *pulls: Pull) -> str:
    """Queue pulls as one group and ask for its checks; the branch's name."""
    first = pulls[0]
    repository = forge.world.repositories[first.repository]
    base = tip = git.resolve(repository.path, first.base_ref)
    for pull in pulls:
        tree = git.text(repository.path, "merge-tree", "--write-tree", tip, pull.head_sha).splitlines()[0]
        made = git.git(
            repository.path, "commit-tree", tree, "-p", tip, "-p", pull.head_sha, "-m", f"{pull.title} (#{pull.number})", env=_by(login)
        )
        tip = made.decode().strip()
    branch = f"gh-readonly-queue/{first.base_ref}/pr-{pulls[-1].number}-{base}"
    git.git(repository.path, "update-ref", f"refs/heads/{branch}", tip)
    _tell(forge, "checks_requested", first, login, branch, tip, base)
    return branch


def _by(login: str) -> dict[str, str]:
    """Author and committer of a commit, as git's environment; an account's name, or the API could not say who it was."""
    who = {"NAME": login, "EMAIL": f"{login}@forge.invalid"}
    return {f"GIT_{role}_{part}": value for role in ("AUTHOR", "COMMITTER") for part, value in who.items()}


def dissolve(forge: Service, login: str, pull: Pull, branch: str) -> None:
    """Take a group apart again."""
    path = forge.world.repositories[pull.repository].path
    tip, base = git.resolve(path, branch), branch.rpartition("-")[2]
    git.git(path, "update-ref", "-d", f"refs/heads/{branch}")
    _tell(forge, "destroyed", pull, login, branch, tip, base)


def _tell(forge: Service, action: str, pull: Pull, login: str, branch: str, tip: str, base: str) -> None:
    repository = forge.world.repositories[pull.repository]
    one = git.commit(repository.path, tip)
    who = {"name": one.author[0], "email": one.author[1]}
    shown = {"id": tip, "tree_id": one.tree, "message": one.message, "timestamp": STARTED, "author": who, "committer": who}
    refs = {"head_sha": tip, "head_ref": f"refs/heads/{branch}", "base_sha": base, "base_ref": f"refs/heads/{pull.base_ref}"}
    forge.herald.merge_group(action, repository, login, refs | {"head_commit": shown})

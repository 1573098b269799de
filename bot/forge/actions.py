"""What people and pushes do to the forge's world, each change announced once."""

from __future__ import annotations

from bot.forge import git
from bot.forge.errors import invalid, not_found
from bot.forge.events import Herald
from bot.forge.world import CheckRun, Comment, Pull, Repository, World, now

LONGEST = 65536  # characters of a comment


class Actions:
    def __init__(self, world: World, herald: Herald) -> None:
        self.world = world
        self.herald = herald

    def write_comment(self, pull: Pull, login: str, body: str, by_app: bool = False) -> Comment:
        check_body(body)
        with self.world.lock:
            comment = Comment(self.world.next_id(), pull.repository, pull.number, login, body, by_app=by_app)
            self.world.comments[comment.id] = comment
        self.herald.comment("created", comment, login)
        return comment

    def edit_comment(self, comment: Comment, login: str, body: str) -> None:
        check_body(body)
        before, comment.body, comment.updated = comment.body, body, now()
        self.herald.comment("edited", comment, login, before)

    def delete_comment(self, comment: Comment, login: str) -> None:
        del self.world.comments[comment.id]
        self.herald.comment("deleted", comment, login)

    def open_pull(self, repository: Repository, login: str, head: str, base: str, title: str, body: str, draft: bool) -> Pull:
        """Open a pull from `branch` or `owner:branch`; its head is kept as refs/pull/N/head, as on GitHub."""
        source, branch = self._head(repository, head)
        tip = git.refs(source.path).get(branch)
        if tip is None:
            raise invalid("PullRequest", "head")
        if base not in git.refs(repository.path):
            raise invalid("PullRequest", "base")
        with self.world.lock:
            number = 1 + max((pull.number for pull in self.world.pulls_of(repository.full_name)), default=0)
            made = (self.world.next_id(), number, repository.full_name, title, body, login, base, source.full_name, branch, tip)
            pull = Pull(*made, draft=draft)
            self._fetch(pull)
            if git.count(repository.path, f"{base}..{tip}") == 0:
                raise invalid("PullRequest", "head", "custom", f"No commits between {base} and {head}")
            self.world.pulls[repository.full_name, number] = pull
        self.herald.pull("opened", pull, login)
        return pull

    def _head(self, repository: Repository, head: str) -> tuple[Repository, str]:
        owner, colon, branch = head.partition(":")
        if not colon or owner == repository.owner:
            return repository, branch or head
        forks = [one for one in self.world.repositories.values() if one.owner == owner and one.fork_of == repository.full_name]
        if not forks:
            raise invalid("PullRequest", "head")
        return forks[0], branch

    def _fetch(self, pull: Pull) -> None:
        target, source = self.world.repositories[pull.repository], self.world.repositories[pull.head_repository]
        git.git(target.path, "fetch", "--quiet", str(source.path), f"+refs/heads/{pull.head_ref}:refs/pull/{pull.number}/head")

    def set_state(self, pull: Pull, login: str, state: str) -> None:
        if state == pull.state:
            return
        pull.state, pull.updated = state, now()
        pull.closed = now() if state == "closed" else None
        self.herald.pull("closed" if state == "closed" else "reopened", pull, login)

    def edit_pull(self, pull: Pull, login: str, title: str, body: str, base: str) -> None:
        """Change title, body or base branch; GitHub tells all three as `edited` with what was before."""
        repository = self.world.repositories[pull.repository]
        if base not in git.refs(repository.path):
            raise invalid("PullRequest", "base")
        changes: dict[str, object] = {}
        if title != pull.title:
            changes["title"] = {"from": pull.title}
        if body != pull.body:
            changes["body"] = {"from": pull.body}
        if base != pull.base_ref:
            sha = git.resolve(repository.path, pull.base_ref)
            changes["base"] = {"ref": {"from": pull.base_ref}, "sha": {"from": sha}}
        if changes:
            pull.title, pull.body, pull.base_ref, pull.updated = title, body, base, now()
            self.herald.pull("edited", pull, login, {"changes": changes})

    def draft(self, pull: Pull, login: str, draft: bool) -> None:
        """Make a pull a draft, or ready."""
        pull.draft, pull.updated = draft, now()
        self.herald.pull("converted_to_draft" if draft else "ready_for_review", pull, login)

    def press(self, check: CheckRun, login: str, button: str = "") -> None:
        """A button of the App on its check, by its identifier; without one GitHub's own Re-run."""
        self.herald.check("requested_action" if button else "rerequested", check, login, button)

    def hide(self, repository: Repository, login: str) -> None:
        repository.private = True
        self.herald.repository("privatized", repository, login)

    def rename(self, repository: Repository, login: str, name: str) -> None:
        """From now on known by another name; the old one leads there."""
        before = repository.full_name
        self.world.rename(repository, name)
        self.herald.repository("renamed", repository, login, {"repository": {"name": {"from": before.split("/")[1]}}})

    def suspend(self, login: str, suspended: bool) -> None:
        """The App's owner suspends it, or takes it up again."""
        assert self.world.app is not None
        self.world.app.suspended = suspended
        self.herald.installation("suspend" if suspended else "unsuspend", login)

    def pushed(self, repository: Repository, before: dict[str, str], login: str) -> None:
        """Announce what a push changed: each branch, and each open pull whose head it is."""
        after = git.refs(repository.path)
        for ref in sorted(before.keys() | after.keys()):
            old, new = before.get(ref, git.ZERO), after.get(ref, git.ZERO)
            if old != new:
                self.herald.push(repository, ref, old, new, login)
                self._synchronize(repository, ref, old, new, login)

    def _synchronize(self, repository: Repository, ref: str, old: str, new: str, login: str) -> None:
        if new == git.ZERO:
            return
        for pull in list(self.world.pulls.values()):
            if (pull.head_repository, pull.head_ref, pull.state) == (repository.full_name, ref, "open"):
                pull.head_sha, pull.updated = new, now()
                self._fetch(pull)
                self.herald.pull("synchronize", pull, login, {"before": old, "after": new})

    def person(self, login: str) -> str:
        """The login of somebody who has an account here."""
        if login not in self.world.tokens.values():
            raise not_found()
        return login


def check_body(body: str) -> None:
    if not body.strip():
        raise invalid("IssueComment", "body", "missing_field", "Body can't be blank")
    if len(body) > LONGEST:
        raise invalid("IssueComment", "data", "unprocessable", "Body is too long (maximum is 65536 characters)")

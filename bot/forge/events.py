"""What happened, as webhook payloads; what the description can fill is left to it."""

from __future__ import annotations

from typing import Any

from bot.forge import git
from bot.forge.answers import accounts, commits, talk
from bot.forge.answers.checks import check_run
from bot.forge.hooks import Courier
from bot.forge.world import CheckRun, Comment, Pull, Repository, World


class Herald:
    """Turns a change of the world into one delivery per hook: of the repositories the App is installed on, what it subscribed to."""

    def __init__(self, world: World, courier: Courier) -> None:
        self.world = world
        self.courier = courier

    def _announce(self, event: str, repository: Repository, sender: str, told: dict[str, Any]) -> None:
        app = self.world.app
        if app is None or not app.installation or repository.owner != app.owner or event not in (*app.events, "ping"):
            return
        shown = accounts.repository(self.world, repository)
        self.courier.announce(event, told | {"repository": shown, "sender": accounts.user(self.world, sender)})

    def ping(self, repository: Repository, sender: str) -> None:
        hook, app = self.world.hooks[0], self.world.app
        config = {"content_type": "json", "insecure_ssl": "0", "secret": "********", "url": hook.url}
        told = {"type": "App", "id": hook.id, "name": "web", "active": True, "events": app.events if app else [], "config": config}
        self._announce("ping", repository, sender, {"zen": "Approachable is better than simple.", "hook_id": hook.id, "hook": told})

    def comment(self, action: str, one: Comment, sender: str, before: str | None = None) -> None:
        pull = self.world.pulls[one.repository, one.number]
        told = {"action": action, "issue": talk.issue(self.world, pull), "comment": talk.comment(self.world, one)}
        told |= {"changes": {"body": {"from": before}}} if before is not None else {}
        self._announce("issue_comment", self.world.repositories[one.repository], sender, told)

    def pull(self, action: str, one: Pull, sender: str, extra: dict[str, Any] | None = None) -> None:
        shown = talk.pull(self.world, one)
        told = {"action": action, "number": one.number, "pull_request": shown} | (extra or {})
        self._announce("pull_request", self.world.repositories[one.repository], sender, told)

    def check(self, action: str, one: CheckRun, sender: str, identifier: str = "") -> None:
        told: dict[str, Any] = {"action": action, "check_run": check_run(self.world, one)}
        told |= {"requested_action": {"identifier": identifier}} if identifier else {}
        self._announce("check_run", self.world.repositories[one.repository], sender, told)

    def repository(self, action: str, one: Repository, sender: str, changes: dict[str, Any] | None = None) -> None:
        self._announce("repository", one, sender, {"action": action} | ({"changes": changes} if changes else {}))

    def installation(self, action: str, sender: str) -> None:
        """The App was installed, suspended, taken up again or removed by its owner."""
        assert self.world.app is not None
        shown = accounts.installation(self.world, self.world.app)
        told = {"action": action, "installation": shown, "sender": accounts.user(self.world, sender)}
        self.courier.announce("installation", told)

    def merge_group(self, action: str, one: Repository, sender: str, group: dict[str, Any]) -> None:
        told = {"action": action, "merge_group": group} | ({"reason": "dequeued"} if action == "destroyed" else {})
        self._announce("merge_group", one, sender, told)

    def push(self, repository: Repository, ref: str, before: str, after: str, sender: str) -> None:
        made, gone = before == git.ZERO, after == git.ZERO
        span = [] if gone else git.commits(repository.path, "-1" if made else f"{before}..{after}", *([after] if made else []))
        listed = [self._pushed(repository, one) for one in reversed(span[:20])]
        html = f"{self.world.url}/{repository.full_name}/compare/{before[:12]}...{after[:12]}"
        told = {"ref": f"refs/heads/{ref}", "before": before, "after": after, "created": made, "deleted": gone, "forced": False}
        told |= {"compare": html, "commits": listed, "head_commit": listed[-1] if listed else None, "base_ref": None}
        self._announce("push", repository, sender, told | {"pusher": {"name": sender, "email": f"{sender}@forge.invalid"}})

    def _pushed(self, repository: Repository, one: git.Commit) -> dict[str, Any]:
        changes = git.changes(repository.path, one.parents[0], one.sha) if one.parents else []
        named = {kind: [change.name for change in changes if change.status == kind] for kind in ("added", "removed", "modified")}
        who = [{"name": name, "email": email, "username": name, "date": date} for name, email, date in (one.author, one.committer)]
        told = {"id": one.sha, "tree_id": one.tree, "distinct": True, "message": one.message, "timestamp": one.committer[2]}
        url = commits.parent(self.world, repository, one.sha)["html_url"]
        return told | {"url": url, "author": who[0], "committer": who[1]} | named

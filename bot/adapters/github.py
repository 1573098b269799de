"""GitHub through PyGithub: one client per installation, its errors told apart by what is to be done about them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import requests
from github import GithubException, RateLimitExceededException, UnknownObjectException
from github.CheckRun import CheckRun
from github.ContentFile import ContentFile
from github.HookDelivery import HookDeliverySummary
from github.PaginatedList import PaginatedList
from github.PullRequest import PullRequest
from github.Repository import Repository

from bot.adapters.github_clients import Clients, narrow_token
from bot.core.missed import Attempt
from bot.core.records import PullState
from bot.flow.ports import Ancestry, Annotation, CheckBody, Declined, Gone, RepositoryState, Shut, Unavailable
from bot.settings import Settings

MOST_COMPARED = 300  # files that GitHub names in a comparison
MOST_ANNOTATIONS = 50  # in one request; those of further requests are added to them
MOST_ATTEMPTS = 3000  # of failed deliveries that are looked through at once
T = TypeVar("T")


class GitHubApi:
    """The port `bot.flow.ports.GitHub`."""

    def __init__(self, settings: Settings) -> None:
        self._clients = Clients(settings)

    def permission(self, repository: str, login: str) -> str:
        """admin, write, read or none; somebody GitHub does not know here has none."""

        def ask(repo: Repository) -> str:
            try:
                return repo.get_collaborator_permission(login)
            except UnknownObjectException:
                return "none"

        return self._ask(repository, ask)

    def writers(self, repository: str) -> Sequence[str]:
        """Everybody who may write."""
        return self._ask(repository, lambda repo: [one.login for one in repo.get_collaborators(permission="push")])

    def repository(self, repository: str) -> RepositoryState:
        """A repository as it is now, under the name it has now."""
        return self._ask(repository, _repository_state)

    def pull(self, repository: str, number: int) -> PullState:
        """A pull request as it is now."""
        return self._ask(repository, lambda repo: _pull_state(repository, repo.get_pull(number)))

    def ancestry(self, repository: str, base_ref: str, head: str) -> Ancestry:
        """Tip of the base branch and merge-base with head."""

        def ask(repo: Repository) -> Ancestry:
            tip = repo.get_branch(base_ref).commit.sha
            return Ancestry(tip, repo.compare(tip, head).merge_base_commit.sha)

        return self._ask(repository, ask)

    def branch_tip(self, repository: str, branch: str) -> str:
        return self._ask(repository, lambda repo: repo.get_branch(branch).commit.sha)

    def is_ancestor(self, repository: str, sha: str, descendant: str) -> bool:
        """Whether a commit lies in the history of another."""
        return self._ask(repository, lambda repo: repo.compare(sha, descendant).merge_base_commit.sha == sha)

    def changed_files(self, repository: str, since: str, sha: str) -> Mapping[str, str] | None:
        """Path and blob SHA of each file that differs from `since`, an ancestor; None where GitHub doesn't name them all."""
        files = self._ask(repository, lambda repo: repo.compare(since, sha).files)
        moved = {file.previous_filename: "" for file in files if file.previous_filename}
        return moved | {file.filename: file.sha or "" for file in files} if len(files) < MOST_COMPARED else None

    def file(self, repository: str, path: str, ref: str) -> str | None:
        """A text file at a commit; None if there is none."""

        def ask(repo: Repository) -> str | None:
            try:
                found = repo.get_contents(path, ref=ref)
            except UnknownObjectException:
                return None
            return found.decoded_content.decode("utf-8", "replace") if isinstance(found, ContentFile) else None

        return self._ask(repository, ask)

    def folder(self, repository: str, path: str, ref: str) -> Mapping[str, str] | None:
        """Name and text of each file of a folder; None where it has folders of its own, or isn't there."""

        def ask(repo: Repository) -> Mapping[str, str] | None:
            try:
                found = repo.get_contents(path, ref=ref)
            except UnknownObjectException:
                return None
            if isinstance(found, ContentFile) or any(one.type != "file" for one in found):
                return None
            return {one.name: one.decoded_content.decode("utf-8", "replace") for one in found}

        return self._ask(repository, ask)

    def find_comment(self, repository: str, number: int, marker: str) -> str | None:
        """The oldest comment that carries a marker: whoever copied it came later."""

        def ask(repo: Repository) -> str | None:
            return next((str(one.id) for one in repo.get_issue(number).get_comments() if marker in (one.body or "")), None)

        return self._ask(repository, ask)

    def create_comment(self, repository: str, number: int, body: str) -> str:
        return self._ask(repository, lambda repo: str(repo.get_issue(number).create_comment(body).id))

    def edit_comment(self, repository: str, number: int, comment: str, body: str) -> None:
        self._ask(repository, lambda repo: repo.get_issue(number).get_comment(int(comment)).edit(body))

    def react(self, repository: str, number: int, comment: int, content: str) -> str:
        """React to a comment; doing it twice is doing it once."""
        return self._ask(repository, lambda repo: str(repo.get_issue(number).get_comment(comment).create_reaction(content).id))

    def find_check(self, repository: str, sha: str, name: str, external_id: str) -> str | None:
        def ask(repo: Repository) -> str | None:
            return next((str(one.id) for one in _all_checks(repo, sha, name) if one.external_id == external_id), None)

        return self._ask(repository, ask)

    def create_check(self, repository: str, body: CheckBody) -> str:
        """Its annotations come with the next `edit_check`, which knows how many are there."""
        key = {"head_sha": body.head, "external_id": body.external_id}
        return self._ask(repository, lambda repo: str(repo.create_check_run(**key, **_check(body)).id))

    def edit_check(self, repository: str, check: str, body: CheckBody) -> None:
        """Bring a check up to date; annotations can only be added, so those that are there already are passed over."""

        def ask(repo: Repository) -> None:
            known = repo.get_check_run(int(check))
            there = known.output.annotations_count if body.annotations else 0
            for some in _portions(body.annotations[there:]):
                known.edit(**_check(body, some))

        self._ask(repository, ask)

    def failed_deliveries(self, since: float) -> Sequence[Attempt]:
        """Attempts to deliver to our hook that failed since then, newest first; none where there is no App to ask for."""
        app = self._clients.app()
        if app is None:
            return ()
        with self._told_apart(""):
            params = {"status": "failure", "per_page": 100}
            listed = PaginatedList(HookDeliverySummary, app.requester, "/app/hook/deliveries", params)
            return tuple(_attempts(listed, since))

    def redeliver(self, attempt: int) -> None:
        """Ask for one more attempt, under the same delivery id."""
        app = self._clients.app()
        assert app is not None
        with self._told_apart(""):
            app.requester.requestJsonAndCheck("POST", f"/app/hook/deliveries/{attempt}/attempts")

    def fetch_token(self, repository: str) -> str:
        """A token that may read this one repository for an hour, for a node's fetcher; "" where there is no App."""
        app = self._clients.app()
        if app is None:
            return ""
        with self._told_apart(repository):
            installation = self._clients.installation(app, repository)
            return str(narrow_token(app, installation, repository.split("/")[1], contents="read").token)

    def _ask(self, repository: str, action: Callable[[Repository], T]) -> T:
        """Do `action`; credentials that GitHub no longer takes are renewed once."""
        with self._told_apart(repository):
            try:
                return action(self._repo(repository))
            except GithubException as error:
                if error.status != 401:
                    raise
            self._clients.renew(repository)
            return action(self._repo(repository))

    def _repo(self, repository: str) -> Repository:
        return self._clients.of(repository).get_repo(repository)

    @contextmanager
    def _told_apart(self, repository: str) -> Iterator[None]:
        try:
            yield
        except Shut:
            self._clients.forget(repository)
            raise
        except requests.RequestException as error:
            raise Unavailable(type(error).__name__) from error
        except GithubException as error:
            raise told_apart(error) from error


def told_apart(error: GithubException) -> Gone | Declined | Unavailable:
    """What GitHub's refusal means for us."""
    headers = {name.lower(): value for name, value in (error.headers or {}).items()}
    limited = isinstance(error, RateLimitExceededException) or error.status == 429 or "retry-after" in headers
    text = f"{error.status} {error.message or ''}".strip()
    if limited:
        return Unavailable(text, _wait(headers))
    if error.status in (404, 410):
        return Gone(text)
    if error.status in (403, 422):
        return Declined(text)
    return Unavailable(text)


def _wait(headers: dict[str, str]) -> float:
    """Seconds until GitHub takes requests again: as it says, else a minute."""
    if headers.get("retry-after", "").isdigit():
        return float(headers["retry-after"])
    if headers.get("x-ratelimit-remaining") == "0" and headers.get("x-ratelimit-reset", "").isdigit():
        return max(1.0, float(headers["x-ratelimit-reset"]) - time.time())
    return 60.0


def _pull_state(repository: str, pull: PullRequest) -> PullState:
    head_repository = pull.head.repo.full_name if pull.head.repo else ""
    base = pull.base.repo
    return PullState(
        repository=repository, number=pull.number, title=pull.title, author=pull.user.login if pull.user else "",
        open=pull.state == "open", head=pull.head.sha, head_repository=head_repository, base_ref=pull.base.ref,
        clone_url=base.clone_url, private=bool(base.private), draft=bool(pull.draft),
    )  # fmt: skip


def _repository_state(repo: Repository) -> RepositoryState:
    repo.complete()
    return RepositoryState(repo.full_name, repo.clone_url, bool(repo.private), repo.default_branch)


def _all_checks(repo: Repository, sha: str, name: str) -> Iterable[CheckRun]:
    return repo.get_commit(sha).get_check_runs(check_name=name, filter="all")


def _attempts(listed: Iterable[HookDeliverySummary], since: float) -> Iterator[Attempt]:
    for one, _ in zip(listed, range(MOST_ATTEMPTS), strict=False):
        at = one.delivered_at.timestamp()
        if at < since:
            return
        assert one.id is not None
        yield Attempt(one.id, one.guid or "", one.event or "", at)


def _portions(annotations: Sequence[Annotation]) -> list[Sequence[Annotation]]:
    """As many as one request takes; one portion of none where there are none."""
    return [annotations[at : at + MOST_ANNOTATIONS] for at in range(0, len(annotations), MOST_ANNOTATIONS)] or [()]


def _check(body: CheckBody, annotations: Sequence[Annotation] = ()) -> dict[str, Any]:
    """The parts of a check that change; a conclusion is given exactly when it is completed."""
    output: dict[str, Any] = {"title": body.title, "summary": body.summary}
    if annotations:
        output["annotations"] = [_annotation(one) for one in annotations]
    parts: dict[str, Any] = {"name": body.name, "status": body.status, "details_url": body.details_url, "output": output}
    parts["actions"] = [dict(zip(("identifier", "label", "description"), one, strict=True)) for one in body.actions]
    return parts | ({"conclusion": body.conclusion} if body.conclusion else {})


def _annotation(one: Annotation) -> dict[str, Any]:
    place = {"path": one.path, "start_line": one.line, "end_line": one.line}
    return place | {"annotation_level": one.level, "message": one.message, "title": one.title}

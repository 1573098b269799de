"""Pulls, their issue side, comments and reactions, as GitHub's JSON."""

from __future__ import annotations

from typing import Any

from bot.forge import git
from bot.forge.answers.accounts import app, node_id, repository, user
from bot.forge.wire import PREFIX
from bot.forge.world import Comment, Pull, Reaction, World

REACTIONS = ("+1", "-1", "laugh", "confused", "heart", "hooray", "eyes", "rocket")


def pull_urls(world: World, one: Pull) -> dict[str, str]:
    api, html = f"{world.url}{PREFIX}/repos/{one.repository}", f"{world.url}/{one.repository}/pull/{one.number}"
    return {
        "url": f"{api}/pulls/{one.number}",
        "html_url": html,
        "diff_url": f"{html}.diff",
        "patch_url": f"{html}.patch",
        "issue_url": f"{api}/issues/{one.number}",
        "commits_url": f"{api}/pulls/{one.number}/commits",
        "review_comments_url": f"{api}/pulls/{one.number}/comments",
        "review_comment_url": f"{api}/pulls/comments{{/number}}",
        "comments_url": f"{api}/issues/{one.number}/comments",
        "statuses_url": f"{api}/statuses/{one.head_sha}",
    }


def pull(world: World, one: Pull, detail: bool = True) -> dict[str, Any]:
    """One pull; with detail the counts of a single pull, without those of a list."""
    urls = pull_urls(world, one)
    shown: dict[str, Any] = urls | {
        "id": one.id,
        "node_id": node_id("PullRequest", one.id),
        "number": one.number,
        "state": one.state,
        "locked": one.locked,
        "title": one.title,
        "user": user(world, one.author),
        "body": one.body or None,
        "created_at": one.created,
        "updated_at": one.updated,
        "closed_at": one.closed,
        "merged_at": None,
        "merge_commit_sha": None,
        "assignee": None,
        "assignees": [],
        "requested_reviewers": [],
        "requested_teams": [],
        "labels": [],
        "milestone": None,
        "draft": one.draft,
        "head": side(world, one.head_repository, one.head_ref, one.head_sha),
        "base": side(world, one.repository, one.base_ref, base_sha(world, one)),
        "_links": links(urls),
        "author_association": association(world, one.repository, one.author),
        "auto_merge": None,
        "active_lock_reason": None,
    }
    return shown | (counts(world, one) if detail else {})


def base_sha(world: World, one: Pull) -> str:
    return git.resolve(world.repositories[one.repository].path, one.base_ref)


def side(world: World, name: str, ref: str, sha: str) -> dict[str, Any]:
    owner = name.split("/")[0]
    return {
        "label": f"{owner}:{ref}",
        "ref": ref,
        "sha": sha,
        "user": user(world, owner),
        "repo": repository(world, world.repositories[name]),
    }


def links(urls: dict[str, str]) -> dict[str, dict[str, str]]:
    named = {"self": "url", "html": "html_url", "issue": "issue_url", "comments": "comments_url", "commits": "commits_url"}
    named |= {name: f"{name}_url" for name in ("review_comments", "review_comment", "statuses")}
    return {name: {"href": urls[key]} for name, key in named.items()}


def counts(world: World, one: Pull) -> dict[str, Any]:
    path = world.repositories[one.repository].path
    root = git.merge_base(path, base_sha(world, one), one.head_sha)
    changes = git.changes(path, root, one.head_sha)
    return {
        "merged": False,
        "mergeable": True,
        "rebaseable": True,
        "mergeable_state": "clean",
        "merged_by": None,
        "comments": len(world.comments_of(one.repository, one.number)),
        "review_comments": 0,
        "maintainer_can_modify": False,
        "commits": git.count(path, f"{root}..{one.head_sha}"),
        "additions": sum(change.additions for change in changes),
        "deletions": sum(change.deletions for change in changes),
        "changed_files": len(changes),
    }


def association(world: World, name: str, login: str) -> str:
    """What GitHub prints beside a name; nothing to decide by."""
    one = world.repositories[name]
    if login == one.owner:
        return "OWNER"
    if login in one.roles:
        return "COLLABORATOR"
    return "CONTRIBUTOR" if any(pull.author == login for pull in world.pulls_of(name)) else "NONE"


def issue(world: World, one: Pull) -> dict[str, Any]:
    """The issue every pull also is; it carries no head SHA."""
    urls = pull_urls(world, one)
    link = {key: urls[key] for key in ("url", "html_url", "diff_url", "patch_url")} | {"merged_at": None}
    return {
        "id": one.id + 500_000_000,
        "node_id": node_id("Issue", one.id),
        "url": urls["issue_url"],
        "repository_url": f"{world.url}{PREFIX}/repos/{one.repository}",
        "html_url": urls["html_url"],
        "comments_url": urls["comments_url"],
        "number": one.number,
        "title": one.title,
        "user": user(world, one.author),
        "labels": [],
        "state": one.state,
        "locked": one.locked,
        "assignee": None,
        "assignees": [],
        "milestone": None,
        "comments": len(world.comments_of(one.repository, one.number)),
        "created_at": one.created,
        "updated_at": one.updated,
        "closed_at": one.closed,
        "author_association": association(world, one.repository, one.author),
        "active_lock_reason": None,
        "draft": one.draft,
        "pull_request": link,
        "body": one.body or None,
        "reactions": tally([], f"{urls['issue_url']}/reactions"),
        "performed_via_github_app": None,
    }


def tally(given: list[Reaction], url: str) -> dict[str, Any]:
    contents = [reaction.content for reaction in given]
    return {"url": url, "total_count": len(given)} | {name: contents.count(name) for name in REACTIONS}


def comment(world: World, one: Comment) -> dict[str, Any]:
    api, html = f"{world.url}{PREFIX}/repos/{one.repository}", f"{world.url}/{one.repository}/pull/{one.number}"
    url = f"{api}/issues/comments/{one.id}"
    return {
        "id": one.id,
        "node_id": node_id("IssueComment", one.id),
        "url": url,
        "html_url": f"{html}#issuecomment-{one.id}",
        "issue_url": f"{api}/issues/{one.number}",
        "body": one.body,
        "user": user(world, one.author),
        "created_at": one.created,
        "updated_at": one.updated,
        "author_association": association(world, one.repository, one.author),
        "reactions": tally(world.reactions_to(one.id), f"{url}/reactions"),
        "performed_via_github_app": app(world, world.app) if one.by_app and world.app else None,
    }


def reaction(world: World, one: Reaction) -> dict[str, Any]:
    return {
        "id": one.id,
        "node_id": node_id("Reaction", one.id),
        "user": user(world, one.author),
        "content": one.content,
        "created_at": one.created,
    }

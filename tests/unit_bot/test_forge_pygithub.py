"""PyGithub talks to the forge over HTTP as it would to GitHub, chained calls included, without one violation."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from forged_github import Forged
from github import Auth, Github, GithubException, GithubIntegration, UnknownObjectException
from github.Repository import Repository

SAMPLE = "kernelgate/sample"


@pytest.fixture
def repo(forged: Forged) -> Iterator[Repository]:
    """The sample repository as the App's installation sees it, with pull 1 open."""
    made = forged.call("POST", f"/repos/{SAMPLE}/pulls", title="A change", head="change", base="main", body="why")
    assert made.status_code == 201, made.text
    auth = Auth.AppAuth(7, forged.private_key).get_installation_auth(11)
    client = Github(auth=auth, base_url=forged.api, seconds_between_writes=0, seconds_between_requests=0, retry=None)
    yield client.get_repo(SAMPLE)
    client.close()
    assert forged.world.violations == []


def test_pull_with_commits_and_files(repo: Repository) -> None:
    pull = repo.get_pull(1)
    assert (pull.title, pull.state, pull.user.login, pull.base.ref) == ("A change", "open", "mira", "main")
    assert [commit.commit.message for commit in pull.get_commits()] == ["change"]
    assert [(file.filename, file.status, file.additions) for file in pull.get_files()] == [("kernels/one.cu", "modified", 1)]
    assert pull.changed_files == 1 and pull.commits == 1
    assert [one.number for one in repo.get_pulls()] == [1]


def test_comment_written_edited_and_reacted_to(repo: Repository) -> None:
    comment = repo.get_pull(1).create_issue_comment("hello")
    comment.edit("hello again")
    reaction = comment.create_reaction("eyes")
    assert comment.create_reaction("eyes").id == reaction.id
    listed = list(repo.get_pull(1).get_issue_comments())
    assert [(one.body, one.user.login, one.user.type) for one in listed] == [("hello again", "kernelgate[bot]", "Bot")]
    assert listed[0].reactions["eyes"] == 1
    assert comment.delete_reaction(reaction.id)
    comment.delete()
    assert list(repo.get_issue(1).get_comments()) == []


def test_check_created_updated_and_listed(repo: Repository) -> None:
    head = repo.get_pull(1).head.sha
    check = repo.create_check_run("kernelgate", head, status="in_progress", external_id="run-1", output={"title": "t", "summary": "s"})
    check.edit(status="completed", conclusion="success", output={"title": "done", "summary": "fine"})
    found = list(repo.get_commit(head).get_check_runs())
    assert [(one.conclusion, one.output.title, one.external_id) for one in found] == [("success", "done", "run-1")]
    assert repo.get_check_run(check.id).head_sha == head


@pytest.mark.parametrize(
    ("login", "permission", "role"),
    [("mira", "admin", "admin"), ("noor", "write", "maintain"), ("tess", "read", "triage"), ("sam", "read", "read")],
)
def test_permission_as_github_shows_it(repo: Repository, login: str, permission: str, role: str) -> None:
    assert repo.get_collaborator_permission(login) == permission
    assert repo.get_collaborator_role_name(login) == role


def test_permission_of_nobody_is_404(repo: Repository) -> None:
    with pytest.raises(UnknownObjectException):
        repo.get_collaborator_permission("ghost")


def test_contents_at_a_ref(repo: Repository) -> None:
    config = repo.get_contents(".kernelgate.toml")
    assert not isinstance(config, list) and config.decoded_content.startswith(b"version = 1")
    kernel = repo.get_contents("kernels/one.cu", ref=repo.get_pull(1).head.sha)
    assert not isinstance(kernel, list) and kernel.decoded_content == b"one\nchange\n"
    top = repo.get_contents("")
    assert isinstance(top, list) and sorted(entry.path for entry in top) == [".kernelgate.toml", "kernels"]
    with pytest.raises(UnknownObjectException):
        repo.get_contents("absent.toml")


def test_refs_commits_and_merge_base(repo: Repository) -> None:
    main, head = repo.get_branch("main").commit.sha, repo.get_pull(1).head.sha
    assert repo.get_git_ref("heads/main").object.sha == main
    assert repo.get_git_commit(head).parents[0].sha == main
    comparison = repo.compare(main, head)
    assert (comparison.merge_base_commit.sha, comparison.ahead_by, comparison.status) == (main, 1, "ahead")
    assert [pull.number for pull in repo.get_commit(head).get_pulls()] == [1]


def test_pull_from_a_fork(forged: Forged, repo: Repository) -> None:
    made = forged.call("POST", f"/repos/{SAMPLE}/pulls", who="sam", title="From a fork", head="sam:other", base="main")
    pull = repo.get_pull(made.json()["number"])
    assert (pull.head.repo.full_name, pull.head.repo.fork, pull.user.login) == ("sam/sample", True, "sam")
    assert repo.get_commit(pull.head.sha).sha == pull.head.sha


def test_closing_and_retargeting(repo: Repository) -> None:
    pull = repo.get_pull(1)
    pull.edit(state="closed")
    assert repo.get_pull(1).state == "closed" and list(repo.get_pulls()) == []
    pull.edit(state="open", title="Another title")
    assert repo.get_pull(1).title == "Another title"


def test_long_lists_come_in_pages(forged: Forged, repo: Repository) -> None:
    for number in range(35):
        assert forged.call("POST", f"/repos/{SAMPLE}/issues/1/comments", who="sam", body=f"comment {number}").status_code == 201
    assert [one.body for one in repo.get_issue(1).get_comments()] == [f"comment {number}" for number in range(35)]


def test_the_app_and_its_installation(forged: Forged, repo: Repository) -> None:
    integration = GithubIntegration(auth=Auth.AppAuth(7, forged.private_key), base_url=forged.api, seconds_between_writes=0)
    assert integration.get_app().slug == "kernelgate"
    assert integration.get_repo_installation("kernelgate", "sample").id == 11
    assert integration.get_access_token(11).token.startswith("ghs_")


def test_a_person_cannot_make_a_check(forged: Forged, repo: Repository) -> None:
    client = Github(auth=Auth.Token("token-mira"), base_url=forged.api, seconds_between_writes=0, retry=None)
    assert client.get_user().login == "mira"
    with pytest.raises(GithubException) as refused:
        client.get_repo(SAMPLE).create_check_run("kernelgate", repo.get_pull(1).head.sha)
    assert refused.value.status == 403

"""A person at the forge, over the same REST calls that GitHub has."""

from __future__ import annotations

from dataclasses import dataclass

from github import Auth, Github

from bot.cli.demo.stack import REPOSITORY, Stack
from bot.core.records import Item
from bot.flow.marks import MARK
from bot.flow.posts import CHECK

ANSWER = f"{MARK}{Item.ANSWER}:"


@dataclass(frozen=True)
class Posted:
    """An answer of the bot as it stands on the pull's page."""

    body: str
    url: str


class Visitor:
    def __init__(self, stack: Stack, login: str) -> None:
        auth = Auth.Token(stack.secrets.tokens[login])
        github = Github(auth=auth, base_url=f"{stack.forge}/api/v3", seconds_between_requests=0, seconds_between_writes=0)
        self.repository = github.get_repo(REPOSITORY)

    def say(self, number: int, text: str) -> None:
        self.repository.get_pull(number).create_issue_comment(text)

    def answers(self, number: int) -> list[Posted]:
        """The bot's answers, oldest first; its card is none."""
        comments = self.repository.get_pull(number).get_issue_comments()
        return [Posted(one.body, one.html_url) for one in comments if one.user.type == "Bot" and ANSWER in one.body]

    def head(self, number: int) -> str:
        return str(self.repository.get_pull(number).head.sha)

    def conclusion(self, number: int) -> str:
        """The check's conclusion on the pull's head; empty while it has none."""
        runs = self.repository.get_commit(self.head(number)).get_check_runs(check_name=CHECK)
        return next((run.conclusion or "" for run in runs), "")

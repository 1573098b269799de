"""PyGithub's clients: one per installation of the App, whose tokens open one repository each."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from github import Auth, Github, GithubException, GithubIntegration
from github.InstallationAuthorization import InstallationAuthorization
from urllib3.util import Retry

from bot.flow.ports import Shut
from bot.settings import Settings

TIMEOUT = 15
EARLY = timedelta(minutes=5)  # a token is replaced this long before its hour is over
# Reads only: a write that answered 502 may have been done, so it is looked for before it is tried again. A wait that GitHub
# asks for is kept by the loop, which has other things to do meanwhile; urllib3 would sleep it through.
RETRY = Retry(
    total=2,
    backoff_factor=0.3,
    status_forcelist=(500, 502, 503, 504),
    allowed_methods=("GET",),
    raise_on_status=False,
    respect_retry_after_header=False,
)


class RepositoryTokens(Auth.Auth):
    """Speaks for the repository it was last turned to, by a token narrowed to it; one thread at a time."""

    def __init__(self, app: GithubIntegration, installation: int) -> None:
        self._app, self._installation = app, installation
        self._name = ""
        self._known: dict[str, InstallationAuthorization] = {}

    def turn_to(self, name: str) -> None:
        self._name = name

    def forget(self) -> None:
        """GitHub no longer takes the token: the next call asks for another."""
        self._known.pop(self._name, None)

    @property
    def token_type(self) -> str:
        return "token"

    @property
    def token(self) -> str:
        known = self._known.get(self._name)
        if known is None or known.expires_at - EARLY < datetime.now(UTC):
            known = self._known[self._name] = self._ask()
        return str(known.token)

    def _ask(self) -> InstallationAuthorization:
        return narrow_token(self._app, self._installation, self._name)


def narrow_token(app: GithubIntegration, installation: int, name: str, **permissions: str) -> InstallationAuthorization:
    """A token for one repository, with all of the installation's permissions or with these; Shut where there is none to be had."""
    wanted = {"repositories": [name]} | ({"permissions": permissions} if permissions else {})
    try:
        headers, data = app.requester.requestJsonAndCheck("POST", f"/app/installations/{installation}/access_tokens", input=wanted)
    except GithubException as error:
        if error.status in (404, 422) or (error.status == 403 and "suspended" in str(error.message)):
            raise Shut(f"the App's installation gives no token for {name}: {error.status} {error.message}") from error
        raise
    return InstallationAuthorization(app.requester, headers, data)


class Clients:
    """One client per installation of the App, or one for the plain token."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._known: dict[str, tuple[Github, RepositoryTokens | None]] = {}
        self._app: GithubIntegration | None = None

    def of(self, repository: str) -> Github:
        """The client that may speak for a repository."""
        owner, name = repository.split("/")
        key = owner if self._settings.github_app_id else ""
        if key not in self._known:
            self._known[key] = self._open(repository)
        client, tokens = self._known[key]
        if tokens is not None:
            tokens.turn_to(name)
        return client

    def renew(self, repository: str) -> None:
        """After a refusal of the credentials: the next call asks for new ones."""
        owner, name = repository.split("/")
        _, tokens = self._known.get(owner, (None, None))
        if tokens is not None:
            tokens.turn_to(name)
            tokens.forget()

    def forget(self, repository: str) -> None:
        """The App may be installed anew there, under another number."""
        self._known.pop(repository.split("/")[0], None)

    def app(self) -> GithubIntegration | None:
        """The App itself; None where a plain token is used."""
        number, key = self._settings.github_app_id, self._settings.github_app_key
        if self._app is None and number is not None and key is not None:
            auth = Auth.AppAuth(number, key.get_secret_value())
            self._app = GithubIntegration(auth=auth, base_url=self._settings.github_api, timeout=TIMEOUT, retry=RETRY, **self._pauses())
        return self._app

    def installation(self, app: GithubIntegration, repository: str) -> int:
        """The number of the App's installation that holds a repository; Shut where none does."""
        try:
            return app.get_repo_installation(*repository.split("/")).id
        except GithubException as error:
            if error.status == 404:
                raise Shut(f"the App is not installed on {repository}") from error
            raise

    def _open(self, repository: str) -> tuple[Github, RepositoryTokens | None]:
        app, token = self.app(), self._settings.github_token
        tokens = RepositoryTokens(app, self.installation(app, repository)) if app else None
        auth = tokens or (Auth.Token(token.get_secret_value()) if token else None)
        client = Github(auth=auth, base_url=self._settings.github_api, timeout=TIMEOUT, retry=RETRY, lazy=True, **self._pauses())
        return client, tokens

    def _pauses(self) -> dict[str, float]:
        spacing = self._settings.github_write_spacing
        return {"seconds_between_requests": 0.05 if spacing else 0.0, "seconds_between_writes": spacing}

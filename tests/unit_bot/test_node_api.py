"""The node API: keys, claims by one of many, fencing by attempt, leases by the server's clock, results kept."""

from __future__ import annotations

import gzip
import json
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from control_house import CASE, REPO, House, good, house, outcome

from bot.adapters.store import jobs
from bot.core.records import JobEnding, JobStatus, RunStatus
from bot.node_api import HARNESS
from runners.protocol import Enumeration, Failure, FailureKind, Job, Outcome, dump, load

__all__ = ["house"]


@pytest.fixture
def queued(house: House) -> House:
    """A house with one run whose only job waits."""
    house.open_pull()
    house.turn()
    return house


def job(house: House, key: str = "") -> Job:
    answer = house.claim(key=key)
    assert answer.status_code == 200, answer.text
    return load(Job, answer.data)


def put(house: House, attempt: str, tunables: dict[str, int | str] | None = None, key: str = "") -> int:
    body = gzip.compress(dump(replace(good(), tunables=tunables or {})))
    return house.node("PUT", f"/attempts/{attempt}/cases/{CASE.id}", body, key).status_code


def every_word(house: House, attempt: str, key: str) -> set[int]:
    """What each call that a node makes for its attempt is answered."""
    words: tuple[tuple[str, str, bytes | dict[str, object]], ...] = (
        ("POST", "/beat", {"phase": "timing"}),
        ("PUT", "/cases", dump(Enumeration((CASE,)))),
        ("PUT", f"/cases/{CASE.id}", dump(good())),
        ("POST", "/done", {"outcome": json.loads(dump(outcome()))}),
    )
    return {house.node(verb, f"/attempts/{attempt}{path}", body, key).status_code for verb, path, body in words}


def view(house: House):  # type: ignore[no-untyped-def]
    return house.store.runs.recent()[0].jobs[0]


def test_a_claim_hands_over_what_the_run_fixed(queued: House) -> None:
    claimed, run = job(queued), queued.store.runs.recent()[0]
    assert (claimed.run, claimed.base, claimed.head, claimed.judge) == (run.id, run.new.base, run.new.head, run.new.judge)
    assert claimed.static and claimed.floor == 0.10 and claimed.clone_url.startswith(queued.forged.url)
    assert queued.claim().status_code == 204


@pytest.mark.parametrize("key", ["kgn_wrong", " ", "x" * 5000])
def test_an_unknown_key_is_refused(queued: House, key: str) -> None:
    assert queued.claim(key=key).status_code == 401
    assert queued.client.post("/node/v1/claim").status_code == 401


def test_a_revoked_key_is_refused_at_once_and_its_results_distrusted(queued: House) -> None:
    attempt = job(queued).attempt
    assert put(queued, attempt) == 204
    queued.store.nodes.revoke("node-1", since=queued.clock.now - 10)
    assert every_word(queued, attempt, queued.key) == {401} and queued.claim().status_code == 401
    _, facts = queued.store.runs.facts(queued.store.runs.recent()[0].id)
    assert facts[0].measurements == ()


def test_a_key_serves_its_own_pool_and_repositories(queued: House) -> None:
    assert queued.claim(pool="mi50").status_code == 403
    other = queued.store.nodes.add("node-2", "host", ["somebody/else"])
    assert queued.claim(key=other).status_code == 204


def test_the_key_is_kept_as_a_hash_only(house: House) -> None:
    with house.store.db.engine.connect() as connection:
        rows = connection.exec_driver_sql("SELECT * FROM nodes").all()
    assert house.key not in str(rows)


@pytest.mark.parametrize(("protocol", "status"), [(1, 200), (0, 200), (-1, 426), (2, 426), ("1", 426), (None, 426)])
def test_protocols_that_are_not_spoken_get_no_jobs(queued: House, protocol: object, status: int) -> None:
    assert queued.claim(protocol=protocol).status_code == status  # type: ignore[arg-type]
    if status == 426:
        queued.turn()
        assert f"too old: upgrade them to kernelgate {HARNESS}" in queued.cards()[0]
        assert f"too old: upgrade it to kernelgate {HARNESS}" in queued.client.get("/nodes").text


def test_of_many_nodes_one_gets_the_job(queued: House) -> None:
    keys = [queued.store.nodes.add(f"more-{n}", "host", [REPO]) for n in range(8)]
    app = queued.client.application

    def claim(key: str) -> int:
        said = json.dumps({"pool": "host", "protocol": 1}).encode()
        return app.test_client().post("/node/v1/claim", data=said, headers={"Authorization": f"Bearer {key}"}).status_code

    with ThreadPoolExecutor(8) as pool:
        statuses = sorted(pool.map(claim, keys))
    assert statuses == [200] + [204] * 7


def test_people_are_served_before_pushes(house: House) -> None:
    house.open_pull()
    house.turn()
    house.comment("/run-test models=llama-1b")
    house.turn()
    assert [load(Job, house.claim().data).selection.models for _ in range(2)] == [("llama-1b",), ()]


def test_a_silent_node_loses_the_job_and_its_late_words_are_refused(queued: House) -> None:
    first = job(queued).attempt
    assert put(queued, first, {"bm": 1}) == 204
    queued.clock.now += 46
    assert queued.node("POST", f"/attempts/{first}/beat", {"phase": "timing"}).status_code == 409
    queued.turn()
    second = job(queued, queued.store.nodes.add("node-2", "host", [REPO]))
    assert second.attempt != first
    assert every_word(queued, first, queued.key) == {409}
    assert view(queued).done == 1  # what the first attempt delivered in time stays


def test_another_nodes_attempt_is_not_ours(queued: House) -> None:
    attempt = job(queued).attempt
    other = queued.store.nodes.add("node-2", "host", [REPO])
    assert every_word(queued, attempt, other) == {409} and every_word(queued, "f" * 32, queued.key) == {409}
    assert view(queued).state is JobStatus.CLAIMED and view(queued).done == 0


def test_two_lost_attempts_end_the_job(queued: House) -> None:
    for _ in range(2):
        job(queued)
        queued.clock.now += 46
        queued.turn()
    assert queued.claim().status_code == 204
    run = queued.store.runs.recent()[0]
    assert run.state is RunStatus.ENDED and run.jobs[0].ending is JobEnding.LOST
    assert [check["conclusion"] for check in queued.checks()] == ["action_required"]


def test_a_beat_renews_the_lease(queued: House) -> None:
    attempt = job(queued).attempt
    for _ in range(5):
        queued.clock.now += 40
        assert queued.node("POST", f"/attempts/{attempt}/beat", {"phase": "timing"}).status_code == 200
        queued.store.jobs.end_leases()
    assert view(queued).state is JobStatus.CLAIMED


def test_a_node_that_beats_and_never_ends_loses_the_job(queued: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "LONGEST_WORK", 100.0)
    attempt = job(queued).attempt
    for status in (200, 200, 409):
        queued.clock.now += 40
        queued.store.jobs.end_leases()
        assert queued.node("POST", f"/attempts/{attempt}/beat", {"phase": "timing"}).status_code == status
    assert view(queued).state is JobStatus.QUEUED


def test_results_are_idempotent_and_kept_by_case_and_tunables(queued: House) -> None:
    attempt = job(queued).attempt
    for tunables in ({"bm": 1}, {"bm": 1}, {"bm": 2}):
        assert put(queued, attempt, tunables) == 204
    _, facts = queued.store.runs.facts(queued.store.runs.recent()[0].id)
    assert [found.tunables for found in facts[0].measurements] == [{"bm": 1}, {"bm": 2}]
    assert view(queued).done == 1  # case, whatever the number of tunables


def test_a_machines_trouble_is_tried_once_more(queued: House) -> None:
    trouble = Outcome(outcome().ending, outcome().node, Failure(FailureKind.INFRASTRUCTURE, "no sandbox"))
    for status in (JobStatus.QUEUED, JobStatus.ENDED):
        attempt = job(queued).attempt
        done = {"outcome": json.loads(dump(trouble))}
        assert queued.node("POST", f"/attempts/{attempt}/done", done).status_code == 204
        assert queued.node("POST", f"/attempts/{attempt}/done", done).status_code == 204
        assert view(queued).state is status
    queued.turn()
    assert [check["conclusion"] for check in queued.checks()] == ["action_required"]


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b"\x1f\x8bnot gzip", b"\xff\xfe", b"[" * 100_000])
def test_garbage_is_a_400_and_never_a_500(queued: House, body: bytes) -> None:
    attempt = job(queued).attempt
    for verb, path in (("PUT", "/cases"), ("PUT", f"/cases/{CASE.id}"), ("POST", "/done")):
        assert queued.node(verb, f"/attempts/{attempt}{path}", body or b" ").status_code == 400


def test_a_result_of_another_case_is_refused(queued: House) -> None:
    attempt = job(queued).attempt
    assert queued.node("PUT", f"/attempts/{attempt}/cases/gemm/other", dump(good())).status_code == 400


def test_a_body_that_swells_is_refused(queued: House) -> None:
    attempt = job(queued).attempt
    bomb = zlib.compress(b" " * (70 * 1024 * 1024), wbits=31)
    assert queued.node("PUT", f"/attempts/{attempt}/cases/{CASE.id}", bomb).status_code == 413
    assert queued.node("PUT", f"/attempts/{attempt}/cases/{CASE.id}", b"0" * (9 * 1024 * 1024)).status_code == 413


def test_the_report_names_the_key_not_what_the_node_calls_itself(queued: House) -> None:
    queued.work()
    queued.turn()
    run = queued.store.runs.recent()[0]
    assert run.report is not None and b"liar" not in run.report and b"node-1" in run.report


def rest(house: House, device: str, reason: str = "the card does not open", seconds: object = 40, key: str = "") -> int:
    said = {"devices": [device], "reason": reason, "seconds": seconds, "protocol": 1, "harness": HARNESS}
    return house.node("POST", "/rest", said, key).status_code


def test_a_key_says_whose_it_is(house: House) -> None:
    assert house.node("GET", "/self").get_json() == {"name": "node-1", "pool": "host", "protocol": 1, "harness": HARNESS}


def test_a_resting_card_is_shown_with_its_reason_until_its_node_asks_again(queued: House) -> None:
    assert rest(queued, "cuda:0", "VRAM is <full>") == 204
    queued.turn()
    assert "its card rests: VRAM is &lt;full&gt;" in queued.cards()[0] or "its card rests: VRAM is <full>" in queued.cards()[0]
    assert "resting: VRAM is &lt;full&gt;" in queued.client.get("/nodes").text
    queued.clock.now += 41
    queued.node("POST", "/claim", {"pool": "host", "devices": ["cuda:0"], "protocol": 1})
    queued.turn()
    assert "rests" not in queued.cards()[0] and "resting" not in queued.client.get("/nodes").text


def test_a_node_rests_when_all_its_cards_do(queued: House) -> None:
    queued.node("POST", "/claim", {"pool": "host", "devices": ["cuda:1"], "protocol": 1})
    rest(queued, "cuda:0")
    assert queued.store.nodes.all()[0].state(queued.clock.now) == "working"
    queued.clock.now += 50  # the lease of the job that cuda:1 took is over
    rest(queued, "cuda:0")
    assert queued.store.nodes.all()[0].state(queued.clock.now) == "resting"


@pytest.mark.parametrize("seconds", [-1, 1e9, "10", None, float("nan")])
def test_a_rest_has_an_end(house: House, seconds: object) -> None:
    assert rest(house, "cuda:0", seconds=seconds) == 400


def test_a_pool_that_falls_silent_is_told_within_a_minute(queued: House) -> None:
    other = queued.store.nodes.add("node-2", "host", ["somebody/else"])
    queued.claim(key=other)
    queued.turn()
    assert "no node connected" in queued.cards()[0]  # that one serves another repository
    assert rest(queued, "host") == 204
    queued.turn()
    assert "its card rests" in queued.cards()[0]
    queued.clock.now += 50
    queued.turn()
    assert "no node connected" in queued.cards()[0]


def test_a_card_that_was_just_rewritten_says_that_too(house: House) -> None:
    """Of runs that decide no check, which would say it in any case."""
    house.world = replace(house.world, card_seconds=60.0)
    house.open_pull()
    house.turn()
    house.work()
    house.clock.now += 60
    house.turn()
    house.clock.now += 30
    house.claim()
    fell_silent = house.clock.now
    house.clock.now += 40
    house.comment("/run-test models=llama-1b")
    house.turn()
    assert "llama-1b" in house.cards()[0] and "no node connected" not in house.cards()[0]
    while "no node connected" not in house.cards()[0]:
        house.turn(1)
        assert house.clock.now <= fell_silent + 60


def test_the_nodes_page_shows_what_a_node_says_and_only_keys_in_use(house: House) -> None:
    card = {"name": "<b>MI50</b>", "target": "gfx906", "memory_bytes": 32 << 30, "driver": "HIP 70051831"}
    said = {"pool": "host", "devices": ["hip:0"], "card": card, "toolchains": ["clang 19"], "protocol": 1, "harness": HARNESS}
    house.node("POST", "/claim", said)
    house.store.nodes.add("gone", "host", [REPO])
    house.store.nodes.revoke("gone", None)
    page = house.client.get("/nodes").text
    assert "hip:0, &lt;b&gt;MI50&lt;/b&gt;, gfx906, 32 GiB, HIP 70051831" in page and "clang 19" in page and ">ready<" in page
    assert "gone" not in page and REPO not in page
    for odd in ({"devices": 1, "card": [], "toolchains": {"a": 1}}, {"devices": [[]], "card": {"memory_bytes": "x"}}):
        assert house.node("POST", "/claim", {**odd, "pool": "host", "protocol": 1}).status_code == 204
        assert house.client.get("/nodes").status_code == 200

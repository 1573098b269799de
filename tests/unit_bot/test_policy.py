"""Who may do what: the whole matrix, written out."""

import pytest

from bot.core.commands import Command, Name
from bot.core.policy import Level, approval_fits, can_write, head_allowed, may, needed_level

SHA = "a" * 40
PERMISSIONS = ("admin", "maintain", "write", "triage", "read", "none", "")


@pytest.mark.parametrize("name", list(Name))
def test_every_command_has_a_level(name):
    assert needed_level(Command(name)) in Level


@pytest.mark.parametrize("permission", PERMISSIONS)
@pytest.mark.parametrize(
    ("name", "stranger", "author", "asker"),
    [
        (Name.HELP, True, True, True),
        (Name.STATUS, True, True, True),
        (Name.CANCEL, False, True, True),
        (Name.RUN_TEST, False, False, False),
        (Name.RETEST, False, False, False),
        (Name.OK_TO_TEST, False, False, False),
        (Name.WAIVE, False, False, False),
        (Name.BISECT, False, False, False),
    ],
)
def test_the_matrix(name, permission, stranger, author, asker):
    command, writes = Command(name), permission in ("admin", "maintain", "write")
    assert may(command, permission) is (writes or stranger)
    assert may(command, permission, is_asker=True) is (writes or asker)
    expected = author or (writes and name is not Name.WAIVE)
    assert may(command, permission, is_author=True) is expected


def test_a_waiver_needs_somebody_else_unless_there_is_nobody():
    waive = Command(Name.WAIVE, args=("judge",), reason="x")
    assert not may(waive, "admin", is_author=True)
    assert may(waive, "admin", is_author=True, sole_writer=True)
    assert may(waive, "write")
    assert not may(waive, "read", sole_writer=True)


@pytest.mark.parametrize("permission", ["triage", "read", "none", "", "WRITE", "owner"])
def test_only_githubs_own_words_for_writing_count(permission):
    assert not can_write(permission)


def test_a_strangers_head_runs_after_all_forty_digits():
    assert head_allowed(SHA, "write", ())
    assert not head_allowed(SHA, "read", ())
    assert not head_allowed(SHA, "", ("b" * 40,))
    assert not head_allowed(SHA, "", (SHA[:12],))
    assert head_allowed(SHA, "", (SHA,))


def test_an_approval_of_an_older_head_does_not_fit():
    command = Command(Name.OK_TO_TEST, args=(SHA,))
    assert approval_fits(command, SHA)
    assert not approval_fits(command, "b" * 40)
    assert not approval_fits(Command(Name.WAIVE, args=(SHA,)), SHA)

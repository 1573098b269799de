"""The card under test: `cuda:0`, or what KG_TEST_DEVICE names. With `host` the emulator stands in, whose tiers are smaller."""

import os

import pytest

from runners.device import Backend, open_device


@pytest.fixture(scope="session")
def device() -> str:
    """Skips where there is no card."""
    name = os.environ.get("KG_TEST_DEVICE", "cuda:0")
    if name != "host" and not _is_there():
        pytest.skip("no GPU here")
    return name


@pytest.fixture(scope="module")
def card(device: str) -> Backend:
    return open_device(device)


def _is_there() -> bool:
    try:
        import cupy
    except ImportError:
        return False
    return bool(cupy.cuda.is_available())

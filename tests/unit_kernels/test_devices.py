"""The shelf's cards as data."""

from __future__ import annotations

import pytest

from kernels import devices
from kernels.spec import Unit


def test_every_card_is_described_under_its_pool_and_target() -> None:
    assert {pool: device.target for pool, device in devices.by_pool().items()} == {
        "mi50": "gfx906", "rx6800": "gfx1030", "gfx1151": "gfx1151", "p40": "sm_61", "h200": "sm_90",
    }  # fmt: skip
    assert devices.for_target("gfx906").wave == 64


def test_rdna_is_described_in_wgps_as_hip_counts() -> None:
    card = devices.for_target("gfx1030")
    assert (card.unit, card.units, card.simds_per_unit, card.shared_per_unit, card.shared_per_block) == (Unit.WGP, 30, 4, 131072, 65536)


@pytest.mark.parametrize("target", sorted(devices.by_target()))
def test_descriptions_are_consistent(target: str) -> None:
    card = devices.for_target(target)
    assert card.shared_per_block <= card.shared_optin <= card.shared_per_unit
    assert card.regs_per_simd % card.reg_granule == 0 and card.shared_per_unit % card.shared_granule == 0
    assert card.copy_bytes in (8, 16) and card.l2_bytes <= card.llc_bytes


def test_an_unknown_target_names_the_known() -> None:
    with pytest.raises(ValueError, match="gfx1030"):
        devices.for_target("gfx9999")

"""Cold batches: every described card's last-level cache has forgotten a set of buffers before its turn comes again."""

from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from kernels import devices
from kernels.spec import Buffer, Dtype, Role
from runners.children.timed import MOST_SETS, rotation
from runners.host_device import HOST

CARDS = [*devices.by_target().values(), HOST]


@examples()
@given(st.sampled_from(CARDS), st.integers(1, 1 << 28))
def test_what_lies_between_two_turns_is_larger_than_the_last_level_cache(card, floats):
    sets, flushed = rotation(card, (Buffer("x", Role.IN, Dtype.F32, (floats,)),))
    between = flushed + (sets - 1) * 4 * floats
    assert 2 <= sets <= MOST_SETS
    assert between > max(card.llc_bytes, card.l2_bytes)
    assert between <= 3 * max(card.llc_bytes, card.l2_bytes) + 4 * floats  # and no more than it takes

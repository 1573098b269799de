"""The CuPy backend on a real NVIDIA card: launches, opt-in shared memory, graphs, errors."""

import struct
from pathlib import Path

import numpy as np
import pytest

from kernels.spec import Build
from runners.cupy_device import CupyBatch, CupyDevice
from runners.device import Backend, BoundLaunch, LaunchError, Zeroing
from runners.telemetry import disagree
from runners.toolchains import CompileRequest, for_target

pytestmark = pytest.mark.gpu

SOURCE = """
#include "kg.h"
extern "C" __global__ void KG_LAUNCH_BOUNDS(KG_BLOCK, 1) twice(const float* from, float* to, int32_t n) {
    const int i = blockIdx.x * KG_BLOCK + threadIdx.x;
    if (i < n) to[i] = 2.0f * from[i];
}
extern "C" __global__ void KG_LAUNCH_BOUNDS(KG_BLOCK, 1) turn(float* data) {
    KG_DYNAMIC_SHARED(float, room);
    for (int i = threadIdx.x; i < 20000; i += KG_BLOCK) room[i] = data[i];
    __syncthreads();
    for (int i = threadIdx.x; i < 20000; i += KG_BLOCK) data[i] = room[19999 - i];
}
"""


@pytest.fixture(scope="module")
def module(card: Backend, tmp_path_factory: pytest.TempPathFactory) -> object:
    checkout, out = tmp_path_factory.mktemp("checkout"), tmp_path_factory.mktemp("out")
    (checkout / "kernels/small").mkdir(parents=True)
    (checkout / "kernels/small/small.cu").write_text(SOURCE)
    request = CompileRequest(checkout, "kernels/small", Build("small.cu", 128), card.device.target, Path(out))
    return card.load(for_target(card.device.target).compile(request).path)


def packed(*values: int) -> tuple[bytes, ...]:
    return tuple(struct.pack("<Q", value) for value in values)


def doubling(card: Backend, module: object, n: int) -> tuple[BoundLaunch, int, np.ndarray]:
    values = np.arange(n, dtype=np.float32)
    source, target = card.allocate(4 * n), card.allocate(4 * n)
    card.upload(source, values.tobytes())
    args = (*packed(source, target), struct.pack("<i", n))
    return BoundLaunch(module, "twice", (-(-n // 128), 1, 1), (128, 1, 1), 0, args), target, values


def test_a_launch_computes(card: Backend, module: object) -> None:
    launch, target, values = doubling(card, module, 1000)
    card.run([launch])
    assert np.array_equal(np.frombuffer(card.download(target, 4000), np.float32), 2 * values)


def test_dynamic_shared_memory_above_48_kib_is_opted_in(card: Backend, module: object) -> None:
    values = np.arange(20000, dtype=np.float32)
    data = card.allocate(values.nbytes)
    card.upload(data, values.tobytes())
    card.run([BoundLaunch(module, "turn", (1, 1, 1), (128, 1, 1), values.nbytes, packed(data))])
    assert np.array_equal(np.frombuffer(card.download(data, values.nbytes), np.float32), values[::-1])


def test_a_batch_is_timed_and_does_its_work(card: Backend, module: object) -> None:
    launch, target, values = doubling(card, module, 1 << 16)
    batch = card.record([launch], 50)
    times = card.time([batch, batch, batch])
    assert batch.launches == 50 and len(times.each) == 3 and all(time > 0 for time in times.each)
    assert not disagree(sum(times.each), times.host)
    assert np.array_equal(np.frombuffer(card.download(target, values.nbytes), np.float32), 2 * values)


def test_work_on_another_stream_is_seen_beside_the_events(card: Backend, module: object) -> None:
    """As if a launch put its work on a stream of its own: the batch's events have passed long before that has ended."""
    assert isinstance(card, CupyDevice)
    launch, _, _ = doubling(card, module, 1 << 24)
    honest, own = card.record([launch], 100), card.stream
    card.stream = card.cupy.cuda.Stream(non_blocking=True)
    elsewhere = card.record([launch], 200)
    card.stream = own
    hiding = CupyBatch(lambda: (elsewhere.queue(), honest.queue())[1], honest.launches)
    card.time([honest, hiding])
    for batch, apart in ((honest, False), (hiding, True)):
        times = card.time([batch] * 3)
        assert disagree(sum(times.each), times.host) is apart


def test_zeroing_is_a_step_of_a_graph(card: Backend, module: object) -> None:
    launch, target, values = doubling(card, module, 1 << 16)
    card.time([card.record([launch, Zeroing(target, values.nbytes // 2)], 3)])
    got = np.frombuffer(card.download(target, values.nbytes), np.float32)
    assert not got[: len(got) // 2].any() and np.array_equal(got[len(got) // 2 :], 2 * values[len(got) // 2 :])


def test_too_much_shared_memory_is_a_launch_error(card: Backend, module: object) -> None:
    with pytest.raises(LaunchError, match="dynamic shared memory"):
        card.run([BoundLaunch(module, "turn", (1, 1, 1), (128, 1, 1), 1 << 20, packed(0))])


def test_a_block_that_is_too_large_is_a_launch_error(card: Backend, module: object) -> None:
    launch, _, _ = doubling(card, module, 1000)
    with pytest.raises(LaunchError, match="twice"):
        card.run([BoundLaunch(module, "twice", (1, 1, 1), (2048, 1, 1), 0, launch.args)])

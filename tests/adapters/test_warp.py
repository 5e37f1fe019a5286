"""Unmodified programs in Warp inside `ptxlab.simulating`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError

wp = pytest.importorskip("warp", reason="Warp is not installed (pip install warp-lang)")
launch = wp.launch  # as: from warp import launch


@wp.kernel(module="unique")
def scaled_add(x: wp.array(dtype=float), y: wp.array(dtype=float), scale: float):  # type: ignore[no-untyped-def,valid-type]
    i = wp.tid()
    y[i] = y[i] + scale * x[i]


@wp.kernel(module="unique")
def product(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float)):  # type: ignore[no-untyped-def,valid-type]
    i, j = wp.tid()
    total = wp.tile_zeros(shape=(16, 16), dtype=float)
    for k in range(2):
        left = wp.tile_load(a, shape=(16, 16), offset=(16 * i, 16 * k))
        right = wp.tile_load(b, shape=(16, 16), offset=(16 * k, 16 * j))
        wp.tile_matmul(left, right, total)
    wp.tile_store(c, total, offset=(16 * i, 16 * j))


@wp.kernel(module="unique")
def neighbours(grid: wp.uint64, points: wp.array(dtype=wp.vec3), out: wp.array(dtype=int)):  # type: ignore[no-untyped-def,valid-type]
    i = wp.tid()
    for j in wp.hash_grid_query(grid, points[i], 1.0):
        if wp.length(points[i] - points[j]) <= 1.0:
            out[i] += 1


@wp.kernel(module="unique")
def count_down(steps: wp.array(dtype=int), condition: wp.array(dtype=int)):  # type: ignore[no-untyped-def,valid-type]
    steps[0] = steps[0] - 1
    if steps[0] == 0:
        condition[0] = 0


@wp.kernel(module="unique")
def inside(mesh: wp.uint64, out: wp.array(dtype=int)):  # type: ignore[no-untyped-def,valid-type]
    query = wp.mesh_query_point(mesh, wp.vec3(0.1, 0.1, 0.1), 10.0)
    if query.result:
        out[0] = 1


@wp.func
def store_half(y: wp.array(dtype=float), i: int, value: float):  # type: ignore[no-untyped-def,valid-type]
    y[i / 2] = value  # in the function


@wp.kernel(module="unique")
def collide(x: wp.array(dtype=float), y: wp.array(dtype=float), offset: int):  # type: ignore[no-untyped-def,valid-type]
    i = wp.tid()
    store_half(y, i, x[i])  # called
    y[i + offset] = 1.0  # stored


def _line(comment: str) -> int:
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith(f"  # {comment}"))


def _whole(*shape: int) -> Any:
    return np.random.default_rng(0).integers(-4, 5, shape).astype(np.float32)


def test_a_command_is_launched_again_with_other_arguments() -> None:
    """As the solvers of `warp.optim.linear` do."""
    x, y, z = (wp.array(_whole(64), dtype=float) for _ in range(3))
    before = y.numpy().copy()
    with ptxlab.simulating() as session:
        command = wp.launch(scaled_add, dim=64, inputs=[x, y, 2.0], record_cmd=True)
        assert not session.results
        command.launch()
        command.set_param_at_index(1, z)
        command.set_param_by_name("scale", 3.0)
        command.set_dim(32)
        command.launch()
    assert len(session.results) == 2 and (y.numpy() == before + 2 * x.numpy()).all()
    assert (z.numpy()[:32] == before[:32] + 3 * x.numpy()[:32]).all() and (
        z.numpy()[32:] == before[32:]
    ).all()


def test_launches_and_gradients() -> None:
    x = wp.array(_whole(1000), dtype=float, requires_grad=True)
    y = wp.zeros(1000, dtype=float, requires_grad=True)
    with ptxlab.simulating(show=False) as session:
        with wp.Tape() as tape:
            wp.launch(scaled_add, dim=1000, inputs=[x, y, 2.0])
        assert np.array_equal(y.numpy(), 2 * x.numpy())
        tape.backward(grads={y: wp.ones(1000, dtype=float)})
        assert (tape.gradients[x].numpy() == 2).all()
    assert [launch.name for launch in session.results] == 2 * ["scaled_add"]
    assert session.results[0].grid.block_count == 4
    assert not any(launch.hazards for launch in session.results)


def test_a_product_of_tiles_is_right() -> None:
    a, b, c = _whole(32, 32), _whole(32, 32), wp.zeros((32, 32), dtype=float)
    with ptxlab.simulating(show=False) as session:
        wp.launch_tiled(product, dim=(2, 2), inputs=[wp.array(a), wp.array(b), c], block_dim=64)
    assert np.array_equal(c.numpy(), a @ b) and not session.results[0].hazards
    assert session.results[0].grid.block_count == 4


def test_a_hash_grid_on_the_only_device() -> None:
    points = np.random.default_rng(0).random((40, 3), np.float32) * 4
    with ptxlab.simulating(show=False) as session:
        given, out = wp.array(points, dtype=wp.vec3, device="cuda"), wp.zeros(40, dtype=int, device="cuda:0")
        grid = wp.HashGrid(8, 8, 8, device="cuda")
        grid.build(given, 1.0)
        wp.launch(neighbours, dim=40, inputs=[grid.id, given, out], device="cuda")
    distances = np.linalg.norm(points[:, None] - points, axis=-1)
    assert (out.numpy() == (distances <= 1).sum(axis=1)).all() and not session.results[0].hazards


def test_a_graph_runs_its_launches_and_copies_each_time_that_it_is_launched() -> None:
    x, y, z = wp.array(np.ones(40, np.float32)), wp.zeros(40, dtype=float), wp.zeros(40, dtype=float)
    with ptxlab.simulating(show=False) as session:
        with wp.ScopedCapture(device="cuda") as capture:
            wp.launch(scaled_add, dim=40, inputs=[x, y, 2.0])
            wp.copy(z, y)
            wp.launch(scaled_add, dim=40, inputs=[x, y, 1.0])
        assert not y.numpy().any() and not session.results
        for _ in range(3):
            wp.capture_launch(capture.graph)
        assert (y.numpy() == 9).all() and (z.numpy() == 8).all()
    assert len(session.results) == 6 and not any(launch.hazards for launch in session.results)


def test_a_graph_whose_body_repeats_while_a_condition_holds() -> None:
    steps, condition = wp.array([5], dtype=int), wp.array([1], dtype=int)
    with ptxlab.simulating(show=False) as session:
        with wp.ScopedCapture() as capture:
            wp.capture_while(condition, lambda: wp.launch(count_down, dim=1, inputs=[steps, condition]))
        wp.capture_launch(capture.graph)
    assert steps.numpy() == [0] and len(session.results) == 5


def test_a_graph_of_a_session_is_not_launched_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    printed: list[str] = []
    x, y = wp.array(np.ones(40, np.float32)), wp.zeros(40, dtype=float)
    with ptxlab.simulating(show=False), wp.ScopedCapture() as capture:
        wp.launch(scaled_add, dim=40, inputs=[x, y, 2.0])
    monkeypatch.setattr(sys, "unraisablehook", lambda raised: printed.append(str(raised.exc_value)))
    wp.capture_launch(capture.graph)
    assert printed == ["a graph that was captured in ptxlab.simulating can be launched only there"]
    assert not y.numpy().any()


def test_an_error_in_a_graph_is_raised_where_it_is_launched() -> None:
    x, y = wp.array(_whole(64), dtype=float), wp.zeros(128, dtype=float)
    with ptxlab.simulating(show=False) as session:
        with wp.ScopedCapture() as capture:
            wp.launch(collide, dim=64, inputs=[x, y, 128])
            wp.launch(scaled_add, dim=64, inputs=[x, y, 2.0])
        for _ in range(2):
            with pytest.raises(PtxlabError, match=rf"test_warp.py:{_line('stored')}: "):
                wp.capture_launch(capture.graph)
        with wp.ScopedCapture() as repeated:
            condition = wp.array([1], dtype=int)
            wp.capture_while(condition, lambda: wp.launch(collide, dim=64, inputs=[x, y, 128]))
        with pytest.raises(PtxlabError, match=rf"test_warp.py:{_line('stored')}: "):
            wp.capture_launch(repeated.graph)
    assert not session.results  # what comes after it is not run


def test_a_mesh_is_not_simulated() -> None:
    corners = wp.array(np.eye(4, 3, dtype=np.float32), dtype=wp.vec3)
    mesh = wp.Mesh(corners, wp.array([0, 1, 2, 0, 3, 1, 1, 3, 2, 2, 3, 0], dtype=int))
    sentence = r"inside.* takes a wp\.Mesh, which is not simulated"
    with ptxlab.simulating(show=False), pytest.raises(PtxlabError, match=sentence):
        wp.launch(inside, dim=1, inputs=[mesh.id, wp.zeros(1, dtype=int)])


def test_hazards_name_lines_of_the_python_source() -> None:
    x, y = wp.array(_whole(64), dtype=float), wp.zeros(128, dtype=float)
    directives = wp.config.line_directives
    with ptxlab.simulating(show=False) as session:
        launch(collide, dim=64, inputs=[x, y, 64])
        with pytest.raises(PtxlabError, match=rf"test_warp.py:{_line('stored')}: .* byte 512 of"):
            wp.launch(collide, dim=64, inputs=[x, y, 128])
    (race,) = session.results[0].hazards
    assert (race.line, race.text) == (_line("in the function"), "y[i / 2] = value  # in the function")
    assert race.sentence.startswith(f"line {race.line} (called in line {_line('called')}): ")
    assert "def collide" in session.results[0].source and wp.config.line_directives == directives


def test_a_kernel_without_python_shows_the_code_that_warp_made() -> None:
    with ptxlab.simulating(show=False) as session:
        assert np.array_equal(wp.map(wp.add, wp.array(_whole(64)), 1.0).numpy(), _whole(64) + 1)
    (result,) = session.results
    lines = result.source.splitlines()
    assert any("wp::add(" in lines[number - 1] for number in result.lines if number)


def test_what_was_there_comes_back() -> None:
    before = wp.launch
    x, y = (wp.array(_whole(10), dtype=float, requires_grad=True) for _ in range(2))
    with ptxlab.simulating(show=False):
        assert wp.launch is not before
        wp.launch(scaled_add, dim=10, inputs=[x, y, 2.0])
    assert wp.launch is before and launch is before
    with wp.Tape() as tape:  # on the CPU
        wp.launch(scaled_add, dim=10, inputs=[x, y, 2.0])
    tape.backward(grads={y: wp.ones(10, dtype=float)})
    assert (x.grad.numpy() == 2).all() and np.array_equal(y.numpy(), 5 * x.numpy())

"""States logged to viewers as Newton's programs do: a page, a recording, a count of frames."""

from __future__ import annotations

import numpy as np
import pytest

from kinema import ModelBuilder, Simulation
from kinema.errors import BuildError, WrongMoment
from kinema.recording import Recording
from kinema.viewer import ViewerFile, ViewerGL, ViewerNull, ViewerUSD, ViewerViser


@pytest.fixture(scope="module")
def model():
    """Balls of two sizes in two worlds, and a box in a third."""
    main = ModelBuilder()
    for k in range(3):
        world = ModelBuilder()
        body = world.add_body(xform=((0, 0, 1.0), (0, 0, 0, 1)))
        if k < 2:
            world.add_shape_sphere(body, radius=0.1 + 0.1 * k)
        else:
            world.add_shape_box(body, hx=0.1, hy=0.1, hz=0.1)
        main.add_world(world)
    return main.finalize(device="cpu")


def raised(model, height):
    state = model.state()
    q = state.joint_q.numpy().reshape(3, 7)
    q[:, 2] = height
    state.joint_q.assign(q.ravel())
    return state


def test_a_page_shows_what_is_logged(model):
    with ViewerViser(port=0, verbose=False) as viewer:
        viewer.set_model(model)
        assert viewer.url.startswith("http://127.0.0.1:") and viewer.is_running() and viewer.should_step()
        viewer.begin_frame(0.1)
        viewer.log_state(raised(model, 2.5))
        viewer.end_frame()
        session = viewer.session
        (name,) = [n for n, b in session.stage.batches.items() if b.kind == "geom"]
        np.testing.assert_allclose(session.stage.nodes[name].batched_positions[:, 2], [2.5, 2.5], atol=1e-6)
        scales = session.stage.nodes[name].batched_scales
        np.testing.assert_allclose(scales[:, 0], [0.1, 0.2], rtol=1e-5)
        (beside,) = session.bystanders
        (other,) = beside.nodes
        assert other.startswith("/kind1/") and beside.nodes[other].batched_positions[0, 2] == pytest.approx(2.5)
        gap = beside.offsets[:, 1].min() - session.stage.offsets[:, 1].max()
        assert gap > 0, "they do not stand in each other"
        session.play(False)
        assert viewer.is_paused() and not viewer.should_step()
    assert not viewer.is_running()


def test_a_recording_is_kept_and_shown_again(model, tmp_path, open_viewer):
    viewer = ViewerFile(tmp_path / "run.npz")
    viewer.set_model(model)
    for k in range(4):
        viewer.begin_frame(0.1 * k)
        viewer.log_state(raised(model, 1.0 + k))
        viewer.end_frame()
    viewer.close()
    balls, box = Recording.load(tmp_path / "run.npz"), Recording.load(tmp_path / "run-1.npz")
    np.testing.assert_allclose(balls.qpos[:, :, 2], [[1, 1], [2, 2], [3, 3], [4, 4]])
    assert box.qpos.shape == (4, 1, 7)
    page = open_viewer(balls)
    np.testing.assert_allclose(page.session.sim.engine.read("geom_size")[:, 0, 0], [0.1, 0.2], rtol=1e-6)
    page.session.timeline.put(2)
    np.testing.assert_allclose(page.session.sim.d.xpos[:, 1, 2], [3, 3], atol=1e-6)


def test_a_model_is_viewed_and_runs(model, open_viewer):
    page = open_viewer(model)
    assert len(page.session.others) == 1 and page.session.sim.worlds == 2
    page.session.advance(3)
    heights = [page.session.sim.d.qpos[0, 2], page.session.others[0].d.qpos[0, 2]]
    assert max(heights) < 1.0
    page.update()


def test_a_stage_of_usd(model, tmp_path):
    """Bodies move in time, shapes are what they are; read again by USD's own library."""
    Usd, UsdGeom = pytest.importorskip("pxr.Usd"), pytest.importorskip("pxr.UsdGeom")
    path = tmp_path / "run.usda"
    viewer = ViewerUSD(path, fps=10.0)
    viewer.set_model(model)
    for k in range(3):
        viewer.begin_frame(0.1 * k)
        state = raised(model, 1.0 + k)
        poses = state.body_q.numpy()
        poses[:, 2] = 1.0 + k
        state.body_q.assign(poses)
        viewer.log_state(state)
        viewer.end_frame()
    viewer.close()
    stage = Usd.Stage.Open(str(path))
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (0.0, 2.0)
    balls = [UsdGeom.Sphere(p) for p in stage.Traverse() if p.IsA(UsdGeom.Sphere)]
    assert sorted(round(b.GetRadiusAttr().Get(), 6) for b in balls) == [0.1, 0.2]
    (cube,) = [p for p in stage.Traverse() if p.IsA(UsdGeom.Cube)]
    heights = [UsdGeom.XformCache(code).GetLocalToWorldTransform(cube).ExtractTranslation()[2] for code in (0, 1, 2)]
    np.testing.assert_allclose(heights, [1, 2, 3], atol=1e-6)
    assert UsdGeom.XformCache(0).GetLocalToWorldTransform(cube).GetRow(0)[0] == pytest.approx(0.1)


def test_a_stage_of_usd_with_cloth_ropes_and_grains(tmp_path):
    Usd, UsdGeom = pytest.importorskip("pxr.Usd"), pytest.importorskip("pxr.UsdGeom")
    builder = ModelBuilder()
    builder.add_particle((5, 0, 0), (0, 0, 0), 1.0, radius=0.1)
    builder.add_cloth_grid(pos=(0, 0, 1), rot=(0, 0, 0, 1), vel=(0, 0, 0), dim_x=1, dim_y=1, cell_x=1, cell_y=1, mass=1)
    builder.add_particle((6, 0, 0), (0, 0, 0), 1.0, radius=0.2)
    builder.add_spring(0, 5, 1.0, 0.0, 0.0)
    model = builder.finalize(device="cpu")
    viewer = ViewerUSD(tmp_path / "soft.usda", fps=10.0)
    viewer.set_model(model)
    state = model.state()
    places = state.particle_q.numpy().copy()
    for k in range(2):
        viewer.begin_frame(0.1 * k)
        state.particle_q.assign(places + np.float32(k))
        viewer.log_state(state)
        viewer.end_frame()
    viewer.close()
    stage = Usd.Stage.Open(str(tmp_path / "soft.usda"))
    (cloth,) = [UsdGeom.Mesh(p) for p in stage.Traverse() if p.IsA(UsdGeom.Mesh)]
    (rope,) = [UsdGeom.BasisCurves(p) for p in stage.Traverse() if p.IsA(UsdGeom.BasisCurves)]
    (grains,) = [UsdGeom.Points(p) for p in stage.Traverse() if p.IsA(UsdGeom.Points)]
    for k in range(2):
        np.testing.assert_allclose(cloth.GetPointsAttr().Get(k), places[1:5] + k)
        for prim in (rope, grains):
            np.testing.assert_allclose(prim.GetPointsAttr().Get(k), places[[0, 5]] + k)
    faces = np.reshape(cloth.GetFaceVertexIndicesAttr().Get(), (-1, 3))
    np.testing.assert_array_equal(faces, model.tri_indices.numpy() - 1)
    np.testing.assert_allclose(grains.GetWidthsAttr().Get(), [0.2, 0.4], rtol=1e-6)


def test_frames_are_counted(model):
    viewer = ViewerNull(num_frames=2)
    with pytest.raises(WrongMoment, match="set_model"):
        viewer.log_state(model.state())
    viewer.set_model(model)
    count = 0
    while viewer.is_running():
        viewer.begin_frame(0.0)
        viewer.log_state(model.state())
        viewer.end_frame()
        count += 1
    assert count == 2
    blind = ViewerGL(headless=True)
    blind.set_model(model)
    blind.log_state(model.state())
    assert blind.url == "" and blind.is_running()
    with pytest.raises(BuildError, match="share=True"):
        ViewerViser(share=True)
    assert Simulation.of_model(model)[0].worlds == 2

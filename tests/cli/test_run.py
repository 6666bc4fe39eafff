"""kinema run: what it does to the worlds, what it writes, and its exit code."""

import json

import mujoco
import numpy as np
import pytest

from kinema.cli.controls import RANDOM_PIECE, control_pieces, control_range, read_controls
from kinema.compile import compile_model
from kinema.errors import KinemaError
from kinema.recording import Recording
from kinema.simulation import Simulation

from .conftest import ARM

UNSTABLE = ARM.replace('name="elbow"', 'name="elbow" stiffness="1e9"')  # no step is short enough for this spring


def test_the_table_says_how_it_went(kinema, arm):
    code, out, err = kinema("run", arm, "--worlds", 4, "--steps", 30, "--json")
    told = json.loads(out)
    assert code == 0
    assert (told["worlds"], told["steps"], told["device"], told["bad worlds"]) == (4, 30, "cpu", 0)
    assert told["real-time factor"] == pytest.approx(told["steps per second"] * 0.01, rel=0.01)
    assert "100 %" in err


def test_it_moves_as_mujoco_does(kinema, arm, tmp_path):
    out = tmp_path / "run.npz"
    assert kinema("run", arm, "--keyframe", "up", "--steps", 50, "--record", out)[0] == 0
    recording = Recording.load(out)
    m = mujoco.MjModel.from_xml_path(arm)
    d = mujoco.MjData(m)
    mujoco.mj_resetDataKeyframe(m, d, 0)
    mujoco.mj_step(m, d, 50)
    assert len(recording) == 51
    np.testing.assert_allclose(recording.qpos[-1, 0], d.qpos, atol=1e-5)
    np.testing.assert_allclose(recording.qvel[-1, 0], d.qvel, atol=1e-4)


def test_controls_from_a_file_reach_the_worlds(kinema, arm, tmp_path):
    rows = np.linspace(-1, 1, 20).reshape(20, 1)
    np.save(tmp_path / "ctrl.npy", rows)
    out = tmp_path / "run.npz"
    code = kinema("run", arm, "--steps", 30, "--ctrl", tmp_path / "ctrl.npy", "--record", out)[0]
    recording = Recording.load(out)
    assert code == 0
    np.testing.assert_allclose(recording.ctrl[1:21, 0], rows, atol=1e-6)
    np.testing.assert_allclose(recording.ctrl[21:, 0], 1.0)  # the last are held
    m = mujoco.MjModel.from_xml_path(arm)
    d = mujoco.MjData(m)
    for k in range(30):
        d.ctrl[:] = rows[min(k, 19)]
        mujoco.mj_step(m, d)
    np.testing.assert_allclose(recording.qpos[-1, 0], d.qpos, atol=1e-5)


def test_replay_gives_the_same_bits(kinema, arm, tmp_path):
    out = tmp_path / "run.npz"
    words = ("--worlds", 3, "--steps", 40, "--ctrl", "random", "--noise", 0.1, "--record", out)
    assert kinema("run", arm, *words)[0] == 0
    code, text, err = kinema("run", "--replay", out, "--json")
    told = json.loads(text)
    assert code == 0 and told["difference to the recording"] == 0.0 and told["worlds"] == 3 and told["steps"] == 40
    assert np.ptp(Recording.load(out).qpos[-1, :, 0]) > 1e-3  # the worlds differ, so equality means something


def test_replay_refuses_what_the_recording_decides(kinema, tmp_path):
    code, _, err = kinema("run", "--replay", tmp_path / "run.npz", "--ctrl", "random")
    assert code == 2 and "exclude each other" in err


def test_a_world_that_goes_bad_is_an_exit_code_and_a_file_to_run_again(kinema, tmp_path):
    model, kept = tmp_path / "unstable.xml", tmp_path / "bad.npz"
    model.write_text(UNSTABLE)
    code, out, err = kinema("run", model, "--noise", 1, "--steps", 200, "--save-failure", kept)
    assert code == 1 and "1 of 1 worlds went bad" in out and "not finite" in out
    assert f"wrote {kept}" in err
    code, out, _ = kinema("run", "--replay", kept)
    assert code == 1 and "went bad" in out


@pytest.mark.parametrize("ending", ["gif", "mp4", "html"])
def test_pictures_and_pages(kinema, arm, tmp_path, ending):
    out = tmp_path / f"run.{ending}"
    code, _, err = kinema(
        "run", arm, "--steps", 20, "--fps", 20, "--record", out, "--size", "64x48", "--camera", "side"
    )
    assert code == 0, err
    data = out.read_bytes()
    if ending == "gif":
        from PIL import Image

        with Image.open(out) as picture:
            assert picture.n_frames == 5 and picture.size == (64, 48)
    elif ending == "mp4":
        import imageio_ffmpeg

        reader = imageio_ffmpeg.read_frames(str(out))
        assert next(reader)["size"] == (64, 48)
        assert len(list(reader)) == 5
    else:
        assert data[:200].lower().lstrip().startswith(b"<!doctype html")


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--keyframe", "upp", "did you mean 'up'?"),
        ("--keyframe", "7", "the model has 1"),
        ("--camera", "sied", "did you mean 'side'?"),
        ("--camera", "3", "it has side"),
        ("--ctrl", "absent.npy", "absent.npy"),
    ],
)
def test_wrong_names_are_explained_before_anything_is_compiled(kinema, arm, option, value, said):
    code, _, err = kinema("run", arm, option, value)
    assert code == 2 and said in err and "kernels" not in err


# ---------------------------------------------------------------------------------------------- controls


@pytest.fixture(scope="module")
def model():
    return compile_model(ARM)


def test_pieces_cover_all_steps(model):
    for kind in ("zero", "random"):
        pieces = list(control_pieces(kind, model, 2, 37, seed=1, longest=lambda: 8))
        assert sum(steps for _, steps in pieces) == 37
    values = np.stack([ctrl for ctrl, _ in pieces])
    assert values.shape == (-(-37 // RANDOM_PIECE), 2, 1)
    assert np.abs(values).max() <= 1 and np.ptp(values) > 0.5
    again = [ctrl for ctrl, _ in control_pieces("random", model, 2, 37, seed=1, longest=lambda: 8)]
    np.testing.assert_array_equal(values, np.stack(again))


def test_range_of_controls_without_limits():
    free = compile_model(ARM.replace(' ctrlrange="-1 1"', ""))
    wide = compile_model(ARM.replace("-1 1", "0 5"))
    assert [float(bound[0]) for bound in control_range(free)] == [-1, 1]
    assert [float(bound[0]) for bound in control_range(wide)] == [0, 5]


@pytest.mark.parametrize(
    ("shape", "fits"), [((1,), True), ((7, 1), True), ((7, 2, 1), True), ((7, 3, 1), False), ((2,), False)]
)
def test_shapes_of_control_files(tmp_path, shape, fits):
    np.save(tmp_path / "c.npy", np.zeros(shape))
    if fits:
        assert read_controls(str(tmp_path / "c.npy"), 1, 2).shape[2] == 1
    else:
        with pytest.raises(KinemaError, match="do not fit the model"):
            read_controls(str(tmp_path / "c.npy"), 1, 2)


def test_damaged_control_files(tmp_path):
    (tmp_path / "c.npy").write_bytes(b"not numpy at all")
    np.save(tmp_path / "nan.npy", np.full(1, np.nan))
    np.save(tmp_path / "text.npy", np.array(["a"]))
    for name in ("c.npy", "nan.npy", "text.npy", "absent.npy"):
        with pytest.raises((KinemaError, FileNotFoundError)):
            read_controls(str(tmp_path / name), 1, 1)


def test_progress_does_not_change_the_motion(model):
    """Pieces of any length give the same bits."""
    ends = []
    for longest in (1, 7, 100):
        sim = Simulation(model, 2, "cpu")
        sim.set_state(qvel=[[0.3, -0.2], [1.0, 0.5]])
        for _, steps in control_pieces("zero", model, 2, 50, seed=0, longest=lambda longest=longest: longest):
            sim.step(steps)
        ends.append(sim.d.qpos)
    np.testing.assert_array_equal(ends[0], ends[1])
    np.testing.assert_array_equal(ends[0], ends[2])

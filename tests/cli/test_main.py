"""The command as a whole: help, mistakes in flags and files, missing extras, exit codes. Never a traceback."""

import importlib
import resource
import signal
import subprocess
import sys
import time

import pytest

from kinema.cli.arguments import COMMANDS


def python(*words, **options):
    """Another Python that runs the command."""
    return subprocess.run([sys.executable, "-m", "kinema", *words], capture_output=True, text=True, **options)


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_teaches(kinema, command):
    code, out, _ = kinema(*([command] if command else []), "--help")
    assert code == 0
    assert ("examples:" if command else "first steps:") in out
    assert out.count("kinema") >= 3


def test_help_imports_nothing_heavy_and_takes_a_fifth_of_a_second():
    """Seconds of computing, which a loaded machine does not change."""
    times = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert python("run", "--help").returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(times) < 0.2
    code = "import sys, kinema.cli; kinema.cli.main(['run', '--help']); print(sorted(sys.modules))"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not any(f"'{name}'" in modules for name in ("numpy", "warp", "rich", "lxml", "scipy"))


def test_no_command_shows_help(kinema):
    code, out, _ = kinema()
    assert code == 0 and "commands:" in out


def test_version(kinema):
    from kinema import __version__

    assert kinema("--version") == (0, f"kinema {__version__}\n", "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["rnu", "a.xml"], "did you mean 'run'?"),
        (["run", "a.xml", "--wolrds", "4"], "did you mean '--worlds'?"),
        (["run", "a.xml", "--worlds", "many"], "'many' is not a number"),
        (["run", "a.xml", "--worlds", "0"], "a whole number from 1 on"),
        (["run", "a.xml", "--steps", "1.5"], "a whole number from 1 on"),
        (["run"], "give a MODEL, or --replay"),
        (["run", "a.xml", "--record", "run.mp3"], ".npz, .mp4, .gif, .html"),
        (["check"], "MODEL"),
        (["compose", "a.xml", "--prefix", "left"], "--prefix belongs to an --attach before it"),
    ],
)
def test_wrong_flags_are_explained(kinema, words, said):
    code, out, err = kinema(*words)
    assert code == 2 and said in err and "Traceback" not in err and out == ""


def test_a_missing_file_suggests_its_neighbour(kinema, arm):
    code, _, err = kinema("info", arm.replace("arm.xml", "amr.xml"))
    assert code == 2 and "there is no such file" in err and "did you mean 'arm.xml'?" in err


def test_a_bad_document_gives_file_line_and_fix(kinema, tmp_path):
    path = tmp_path / "bad.xml"
    path.write_text('<mujoco>\n  <worldbody>\n    <geom type="sphere" siez="1"/>\n  </worldbody>\n</mujoco>\n')
    for command in ("run", "info", "warm", "check", "bench", "compose"):
        code, _, err = kinema(command, path)
        assert code == 2 and f"{path}:3" in err and "did you mean 'size'?" in err, command


def test_an_unknown_device_lists_those_there_are(kinema, arm):
    code, _, err = kinema("run", arm, "--device", "gpu")
    assert code == 2 and "there is no device 'gpu'" in err and "cpu" in err


def test_a_recording_is_not_a_model(kinema):
    code, _, err = kinema("info", "run.npz")
    assert code == 2 and "kinema run --replay run.npz" in err


@pytest.mark.parametrize(
    ("words", "package", "extra"),
    [
        (["check", "{arm}"], "mujoco", "mujoco"),
        (["run", "{arm}", "--record", "{folder}/a.mp4"], "imageio_ffmpeg", "video"),
        (["run", "{arm}", "--record", "{folder}/a.gif"], "PIL", "video"),
        (["run", "{arm}", "--record", "{folder}/a.html"], "viser", "view"),
        (["view", "{arm}"], "viser", "view"),
    ],
)
def test_a_missing_extra_is_named(kinema, monkeypatch, arm, tmp_path, words, package, extra):
    real = importlib.import_module

    def absent(name, *rest):
        if name.partition(".")[0] == package:
            raise ModuleNotFoundError(f"No module named {package!r}", name=package)
        return real(name, *rest)

    monkeypatch.setattr(importlib, "import_module", absent)
    code, _, err = kinema(*(word.format(arm=arm, folder=tmp_path) for word in words))
    assert code == 2 and f"pip install 'kinema[{extra}]'" in err and "Traceback" not in err


def test_a_fault_of_ours_is_a_line_and_debug_shows_it(kinema, monkeypatch, arm):
    def broken(path):
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("kinema.cli.models.source_of", broken)
    code, _, err = kinema("info", arm)
    assert code == 3 and "ZeroDivisionError: oops" in err and "--debug" in err and "Traceback" not in err
    for words in (("info", arm, "--debug"), ("--debug", "info", arm)):
        with pytest.raises(ZeroDivisionError):
            kinema(*words)


@pytest.mark.parametrize("words", [("run", "--help"), ("compose", "{arm}")])
def test_a_closed_pipe_is_no_error(arm, words):
    process = subprocess.Popen(
        [sys.executable, "-m", "kinema", *(word.format(arm=arm) for word in words)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    process.stdout.close()
    assert process.stderr.read() == "" and process.wait() == 0


def test_ctrl_c_ends_quietly(arm):
    """A process of its own, interrupted while it runs."""
    words = [sys.executable, "-m", "kinema", "run", arm, "--steps", "1e9"]
    heed = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}  # a job in the background ignores it
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **heed)
    try:
        heard = process.stderr.readline()
        assert "kernels" in heard
        assert any("%" in line for line in process.stderr)  # the first line of progress: all is compiled, it is running
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130 and "interrupted after" in err and "Traceback" not in err
    assert "steps per second" in out  # what was done is told


def test_the_command_runs_as_a_process(arm):
    """From the shell, start to end: table on standard output, progress on standard error."""
    begin = time.perf_counter()
    done = python("run", arm, "--worlds", "3", "--steps", "20")
    assert done.returncode == 0, done.stderr
    assert "all worlds fine" in done.stdout and "steps per second" in done.stdout
    assert "100 %" in done.stderr and "Warp" not in done.stdout + done.stderr
    assert time.perf_counter() - begin < 300

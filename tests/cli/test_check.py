"""`ptxlab check`: launches of scripts and tests, what is reported of them, and the exit status."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ptxlab.cli import main
from ptxlab.simulator.kernel import Kernel
from tests.cases import each
from tests.sampling import some
from tests.texts import replaced

_HEAD = "import sys\nimport numpy as np\nimport ptxlab\n"
_RACE = (
    _HEAD
    + '''print("says", sys.argv[1:])
shift = ptxlab.kernel(r"""
extern "C" __global__ void shift(int* x) {
    __shared__ int tile[64];
    tile[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = tile[63 - threadIdx.x];
}""")
shift.simulate(1, 64, np.arange(64, dtype=np.int32))
'''
)
_COLUMNS = (
    _HEAD
    + '''source = """extern "C" __global__ void columns(float* x) {
    __shared__ float tile[1024];
    tile[32 * threadIdx.x] = x[threadIdx.x];
    __syncwarp();
    x[threadIdx.x] = tile[32 * (31 - threadIdx.x)];
}"""
for _ in range(2):
    ptxlab.kernel(source).launch(1, 32, np.ones(32, np.float32))
'''
)
_MMA = (
    _HEAD
    + """ins = ptxlab.instruction("mma.m16n8k16.f32.f16")
kernel = ptxlab.kernel(ins.kernel)
a, b, c = (np.zeros((32, operand.registers), np.uint32) for operand in (ins.a, ins.b, ins.c))
kernel.simulate(1, 32, a, b, c, c.copy(), 1)
"""
)
_BOUNDS = (
    _HEAD
    + '''k = ptxlab.kernel("""extern "C" __global__ void f(int* x) { x[threadIdx.x] = 1; }""")
k.simulate(1, 64, np.zeros(32, np.int32))
'''
)


_NULL = (
    _HEAD
    + '''k = ptxlab.kernel("""extern "C" __global__ void f(int* x) {
    int* p = nullptr;
    if (x[0] == 0)
        *p = 1;
    x[1] = 1;
}""")
k.simulate(1, 64, np.zeros(32, np.int32))
'''
)


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Writes a script into the working folder and gives its name."""
    monkeypatch.chdir(tmp_path)

    def write(text: str, name: str = "script.py") -> str:
        Path(name).write_text(text)
        return name

    return write


@pytest.mark.needs("cuda.core")
def test_a_hazard_is_reported_where_it_stands(script, capsys: pytest.CaptureFixture[str]) -> None:
    before = Kernel.simulate, Kernel.launch
    assert main(["check", script(_RACE), "--argument=7"]) == 1
    out = capsys.readouterr().out
    assert "says ['7']" in out and "shift for sm_90a, script.py:11" in out
    assert "hazard: script.py:9: line 5: warps 0 and 1" in out
    assert out.endswith("1 launch: 1 hazard, 0 notes, 0 bank conflicts\n")
    assert (Kernel.simulate, Kernel.launch) == before


@pytest.mark.needs("cuda.core")
def test_hazards_as_sarif_name_rule_and_line(script, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", script(_RACE), "--sarif"]) == 1
    out, err = capsys.readouterr()
    assert "says" in err
    (run,) = json.loads(out)["runs"]
    (result,) = run["results"]
    place = result["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("script.py", 9)
    (rule,) = run["tool"]["driver"]["rules"]
    assert (result["level"], result["ruleId"]) == ("error", rule["id"])
    assert "no barrier orders them" in rule["fullDescription"]["text"]
    assert "measured: H200" in rule["help"]["text"]
    assert run["invocations"] == [{"executionSuccessful": True}]


#: What the schema of SARIF 2.1.0 asks of the parts that are written.
_SARIF = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "version": {"const": "2.1.0"},
        "runs": {
            "items": {
                "required": ["tool"],
                "properties": {
                    "tool": {
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "required": ["name"],
                                "properties": {"rules": {"items": {"required": ["id"]}, "uniqueItems": True}},
                            }
                        },
                    },
                    "invocations": {
                        "items": {
                            "required": ["executionSuccessful"],
                            "properties": {
                                "toolExecutionNotifications": {
                                    "minItems": 1,
                                    "items": {"required": ["message"]},
                                }
                            },
                        }
                    },
                    "results": {
                        "items": {
                            "required": ["message"],
                            "properties": {
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "message": {"required": ["text"]},
                                "locations": {
                                    "items": {
                                        "properties": {
                                            "physicalLocation": {
                                                "properties": {
                                                    "artifactLocation": {
                                                        "properties": {"uri": {"pattern": r"^[\w./%:-]+$"}}
                                                    },
                                                    "region": {"properties": {"startLine": {"minimum": 1}}},
                                                }
                                            }
                                        }
                                    }
                                },
                            },
                        }
                    },
                },
            }
        },
    },
}


@pytest.mark.needs("cuda.core")
def test_sarif_of_a_script_that_fails(script, capfd: pytest.CaptureFixture[str]) -> None:
    """It is as its schema asks, whatever the script and its children print, and names files as URIs."""
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema comes with the lab")
    noise = "import os\nos.write(1, b'noise')\nos.system('echo noise')\n"
    assert main(["check", script(noise + _COLUMNS + _BOUNDS, "my script.py"), "--sarif"]) == 1
    out, err = capfd.readouterr()
    assert err.count("noise") == 2
    data = json.loads(out)
    jsonschema.validate(data, _SARIF)
    (run,) = data["runs"]
    (notification,) = run["invocations"][0]["toolExecutionNotifications"]
    assert "my script.py did not run to its end: HazardError" in notification["message"]["text"]
    places = [result["locations"][0]["physicalLocation"] for result in run["results"]]
    assert {place["artifactLocation"]["uri"] for place in places} == {"my%20script.py"}
    assert [result["level"] for result in run["results"]] == ["note", "note", "error"]


@pytest.mark.needs("cuda.core")
def test_a_trap_of_the_compiler_is_a_finding(script, capsys: pytest.CaptureFixture[str]) -> None:
    """It ends the script, and it stands in the line of CUDA C++."""
    text = script(_NULL)
    assert main(["check", text, "--sarif"]) == 1
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    (result,) = run["results"]
    assert (result["ruleId"], result["level"]) == ("undefined-behaviour", "error")
    assert "which the compiler put in place of code" in result["message"]["text"]
    line = Path(text).read_text().splitlines().index("        *p = 1;") + 1
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == line


@pytest.mark.needs("cuda.core")
def test_a_kernel_of_another_file(script, capsys: pytest.CaptureFixture[str]) -> None:
    """A hazard is named where the kernel's source stands, the launch where the script calls it."""
    script(replaced(_RACE, "shift.simulate(", "def run(): shift.simulate("), "helper_of_check.py")
    assert main(["check", script("import helper_of_check\nhelper_of_check.run()\n"), "--json"]) == 1
    (launch,) = json.loads(capsys.readouterr().out)["launches"]
    assert launch["place"] == ["script.py", 2]
    (finding,) = launch["findings"]
    assert finding["place"] == ["helper_of_check.py", 9] and finding["evidence"].startswith("measured: H200")


@pytest.mark.needs("cuda.core")
def test_bank_conflicts_of_launches_do_not_fail(script, capsys: pytest.CaptureFixture[str]) -> None:
    """`launch` is simulated: there is no GPU."""
    assert main(["check", script(_COLUMNS), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["hazards"], data["bank conflicts"], len(data["launches"])) == (0, 2, 2)
    assert {finding["place"][1] for finding in data["launches"][0]["findings"]} == {6, 8}
    assert main(["check", "script.py"]) == 0
    assert "script.py:11, 2 launches" in capsys.readouterr().out


@pytest.mark.needs("cuda.core")
def test_arithmetic_says_how_it_is_known(script, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", script(_MMA)]) == 0
    out = capsys.readouterr().out
    assert "arithmetic measured: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" in out
    assert "no hazards, no bank conflicts" in out


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            _BOUNDS,
            "script.py did not run to its end: HazardError: ptxlab.cu:1: st.global.u32: thread (32, 0, 0)",
        ),
        ("raise SystemExit(3)", "it left with status 3"),
        ("import sys; sys.exit('no data')", "script.py did not run to its end: no data"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
    ],
)
@pytest.mark.needs("cuda.core")
def test_a_script_that_fails(script, capsys: pytest.CaptureFixture[str], text: str, sentence: str) -> None:
    assert main(["check", script(text)]) == 1
    assert sentence in capsys.readouterr().out


_LAUNCH = (
    _HEAD
    + '''import atexit, builtins, os, threading, time
k = ptxlab.kernel("""
.version 8.0
.target sm_90a
.address_size 64
.entry put(.param .u64 out) { .reg .b64 %a; ld.param.u64 %a, [out]; st.global.u32 [%a], 7; ret; }""")
def launch():
    k.simulate(1, 1, np.zeros(1, np.int32))
launch()
class Mute(Exception):
    def __str__(self): raise GeneratorExit
'''
)


@each(
    "text, launches, failure",
    [
        (
            "threading.Thread(target=lambda: (time.sleep(0.3), launch())).start(); atexit.register(launch)\n"
            "os.chdir('/'); sys.path.clear(); launch()\n"
            "if os.fork() == 0: launch()\n"
            "elif os.fork() == 0: time.sleep(0.3); launch(); os._exit(3)\n"
            "builtins.open = builtins.print = None; launch()\n"
            "os.closerange(0, 100); sys.stdout = sys.stderr = None; launch()",
            11,
            "",
        ),
        ("os._exit(0)", 1, "its process left Python with status 0, as os._exit does"),
        ("os.kill(os.getpid(), 9)", 1, "its process was ended by signal 9"),
        *some(
            [
                ("raise BaseException('enough')", 1, "BaseException: enough"),
                ("raise GeneratorExit", 1, "GeneratorExit: "),
            ]
        ),
        *some(
            [
                ("sys.exit(Mute())", 1, "(its text is a GeneratorExit)"),
                ("raise Mute", 1, "Mute: (its text is a GeneratorExit)"),
            ]
        ),
        *some(
            [
                ("for name in vars(builtins).copy(): delattr(builtins, name)", 1, "NameError: "),
                ("builtins.len = builtins.str = builtins.isinstance = None; launch()", 1, "TypeError: "),
            ]
        ),
        ("atexit._clear()", 1, "its process left Python with status 0"),
        (
            "def long(): k.simulate(1 << 20, 1, np.zeros(1, np.int32))\n"
            "threading.Thread(target=long, daemon=True).start(); time.sleep(0.5)",
            1,
            "it ended before 1 launch, of put",
        ),
    ],
    ids=lambda case: case[0],
)
@pytest.mark.skipif(os.name != "posix", reason="it forks")
def test_there_is_one_report_whatever_a_script_does(
    script, capfd: pytest.CaptureFixture[str], text: str, launches: int, failure: str
) -> None:
    """Its status is 0 only if every launch was looked at."""
    status = main(["check", script(_LAUNCH + text), "--json"])
    data = json.loads(capfd.readouterr().out)
    assert (len(data["launches"]), status) == (launches, 1 if failure else 0), data["failure"]
    assert data["failure"].startswith(failure) and bool(failure) == bool(data["failure"])
    assert {tuple(launch["place"]) for launch in data["launches"]} == {("script.py", 11)}


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_an_interrupted_script_is_reported(script) -> None:
    """Whether a terminal interrupts both processes, or somebody the one of ptxlab."""
    text = _LAUNCH + "print('ready', file=sys.stderr, flush=True)\ntime.sleep(60)"
    command = [sys.executable, "-m", "ptxlab", "check", script(text), "--json"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stderr is not None and "ready" in process.stderr.readline()
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate()
    data = json.loads(out)
    assert (process.returncode, data["failure"], len(data["launches"])) == (1, "it was interrupted", 1)


def test_a_script_that_launches_nothing(script, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", script("x = 1")]) == 0
    assert (
        "nothing was checked: script.py launched nothing, or other processes did" in capsys.readouterr().out
    )


@pytest.mark.parametrize("file", ["nothing.py", ".", "x" * 5000, "a\0.py"])
def test_refusals_say_what_is_wrong(refused, file: str) -> None:
    refused("check", file)


@pytest.mark.slow
def test_tests_are_run_by_pytest(script) -> None:
    tests = (
        replaced(_COLUMNS, "for _ in range(2):", "def test_it():") + "\ndef test_wrong():\n    assert False\n"
    )
    command = [sys.executable, "-m", "ptxlab", "check", script(tests, "test_script.py"), "--json"]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    for more, status in (([], 1), (["--argument=-ktest_it"], 0)):
        done = subprocess.run([*command, *more], capture_output=True, text=True, check=False, env=environment)
        data = json.loads(done.stdout)
        assert (done.returncode, len(data["launches"]), data["bank conflicts"]) == (status, 1, 2)
        assert data["failure"] == ("pytest left with status 1" if status else "")


def test_every_schedule_of_each_launch(script, capsys: pytest.CaptureFixture[str]) -> None:
    text = (
        "import numpy as np, ptxlab\n"
        "source = '__global__ void last(int* x) { if (threadIdx.x % 32 == 0) x[WORD] = threadIdx.x / 32; }'\n"
        "ptxlab.kernel(source).simulate(1, 64, np.zeros(2, np.int32))\n"
    )
    proven = text.replace("WORD", "threadIdx.x / 32")
    assert main(["check", script(proven), "--schedules", "all"]) == 0
    assert "schedules: all schedules of this launch are one class" in capsys.readouterr().out
    assert main(["check", script(text.replace("WORD", "0")), "--schedules", "all", "--json"]) == 1
    (launch,) = json.loads(capsys.readouterr().out)["launches"]
    assert "schedule" in {finding["kind"] for finding in launch["findings"]}

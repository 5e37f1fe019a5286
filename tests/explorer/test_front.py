"""The front end's modules: joined without a bundler, and each stands alone."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import FrameType

import numpy as np
import pytest

import ptxlab
from ptxlab.explorer import bundle, edits
from ptxlab.explorer.page.page_model import delta
from ptxlab.views.labels import number_text
from tests.cases import each
from tools.check_javascript.__main__ import shared_names

FRONT = Path(ptxlab.__file__).parent / "explorer" / "front"
FILES = sorted(FRONT.rglob("*.js"))
IMPORT = r'^import \{([^}]*)\} from "(\.[\w./]+)";$'


@each("file", FILES, ids=lambda file: str(file.relative_to(FRONT)))
def test_every_module_says_what_it_is_and_uses_what_it_imports(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.startswith("// ")
    imports = re.findall(IMPORT, text, flags=re.M)
    body = re.sub(IMPORT, "", text, flags=re.M)
    for names, other in imports:
        exported = re.findall(
            r"^export (?:async )?(?:const|function|class) (\w+)",
            (file.parent / other).read_text(encoding="utf-8"),
            flags=re.M,
        )
        for name in re.findall(r"\w+", names):
            assert name in exported, f"{file.name} imports {name}, which {other} does not export"
            assert re.search(rf"\b{name}\b", body), f"{file.name} imports {name} and does not use it"
    assert text.count("\nimport ") == len(imports), "an import that the joining does not know"


def test_names_of_modules_do_not_meet(tmp_path: Path) -> None:
    """Joined they share one scope, of which the checks of each module know nothing."""
    assert shared_names(FILES) == []
    (tmp_path / "one.js").write_text("export const part = 1;\nfunction other() {}\n", encoding="utf-8")
    (tmp_path / "two.js").write_text("async function part() {\n  const other = 2;\n}\n", encoding="utf-8")
    assert shared_names(tmp_path.glob("*.js")) == ["part: declared in one.js, two.js"]


def test_the_joined_module_parses() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed; the browser tests load the module as well")
    done = subprocess.run(
        [node, "--input-type=module", "--check"],
        input=bundle.script(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_failure_of_python_in_the_tab_is_not_overwritten() -> None:
    """The page may be kept for use offline after Python has failed."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    file = FRONT / "common" / "python_worker.js"
    source = re.sub(IMPORT, "", file.read_text(encoding="utf-8"), flags=re.M)
    script = """
      const make = () => ({ classList: { add() {} }, textContent: "", hidden: false, value: 0 });
      globalThis.Worker = class { postMessage() {} };
      globalThis.location = { href: "https://example.org/" };
      const kept = {};
      const serviceWorker = {
        controller: {}, register: () => new Promise((resolve) => (kept.resolve = resolve)),
      };
      Object.defineProperty(globalThis, "navigator", { value: { serviceWorker } });
      const texts = [];
      for (const fails of [true, false]) {
        const python = new PythonWorker({}, { worker: "w.js", offline: "o.js", wheel: "x.whl" });
        python.showReady();
        if (fails) python.fail("Python could not go on: out of memory");
        kept.resolve();
        await new Promise((resolve) => setTimeout(resolve, 0));
        texts.push(python.text.textContent);
      }
      console.log(JSON.stringify(texts));
    """
    text = source.replace("export class", "class") + script
    done = subprocess.run(
        [node, "--input-type=module"], input=text, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    failed, ready = json.loads(done.stdout)
    assert failed == "Python could not go on: out of memory"
    assert ready.startswith("Python runs in this tab") and ready.endswith("works offline")


def test_numbers_in_cells_are_those_of_figures() -> None:
    """What the page writes in a cell is what figures write: no fraction goes silently."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    rng = np.random.default_rng(3)
    numbers = rng.normal(size=400) * 10.0 ** rng.integers(-9, 9, size=400)
    values = [*numbers.tolist(), 0.99999, 2.00001, 1234.04, -999.96, 3.0, 1e9]
    numbers_js = (FRONT / "common" / "numbers.js").read_text(encoding="utf-8")
    texts = f"{json.dumps(values)}.map((value) => [4, 3, 2].map((digits) => short(value, digits)))"
    function = re.search(r"^function short.*?^}", numbers_js.replace("export ", ""), flags=re.M | re.S)
    assert function is not None
    script = f"{function[0]}\nconsole.log(JSON.stringify({texts}));"
    done = subprocess.run(
        [node, "--input-type=module"], input=script, capture_output=True, text=True, check=True
    )
    for value, texts in zip(values, json.loads(done.stdout), strict=True):
        assert texts == [number_text(value, digits) for digits in (4, 3, 2)]
        assert value.is_integer() or all(re.search(r"[.]|e-", text) for text in texts)


HOP = r"^\W*\d+\. (\S+) +(\S+)"


def front_function_exists(file: Path, name: str) -> bool:
    """Whether a module of the page has a function, or a class with that method."""
    text = file.read_text(encoding="utf-8")
    owner, _, member = name.rpartition(".")
    if not owner:
        return bool(re.search(rf"^export (?:async )?function {member}\(", text, flags=re.M))
    body = re.search(rf"^(?:export )?class {owner}\b.*?^\}}", text, flags=re.M | re.S)
    return bool(body and re.search(rf"^  (?:async )?{member}\(", body[0], flags=re.M))


def test_the_path_of_an_edited_cell_goes_where_it_says() -> None:
    told = re.findall(HOP, str(edits.__doc__), flags=re.M)
    assert len(told) == 18
    for file, name in told:
        if file.startswith("front/"):
            assert front_function_exists(FRONT.parent / file, name), f"{file} has no {name}"
    assert not front_function_exists(FRONT / "app.js", "App.fly")
    pytest.importorskip("anywidget")
    explorer = ptxlab.explore("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    called: list[tuple[str, str]] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        file = Path(frame.f_code.co_filename)
        if event == "call" and file.is_relative_to(FRONT.parent):
            called.append((file.relative_to(FRONT.parent).as_posix(), frame.f_code.co_qualname))

    sys.setprofile(note)
    try:
        cell = {"type": "set_cell", "name": "A", "row": 3, "column": 5, "text": "2.5"}
        explorer.page._handle_custom_msg(cell, [])
    finally:
        sys.setprofile(None)
    assert explorer.A[3, 5] == 2.5
    calls = iter(called)
    for hop in told:
        if not hop[0].startswith("front/"):
            assert hop in calls, f"{hop} is not called, or not after what is before it in the list"


def test_what_updates_what_names_functions_of_the_page() -> None:
    head = (FRONT / "app.js").read_text(encoding="utf-8").split("\nimport ")[0]
    names = re.findall(r"`(\w+\.\w+)`", head)
    assert len(names) >= 15
    for name in [*names, "LiveModel.send", "Content.read"]:  # the last two are in the path of an edited cell
        assert any(front_function_exists(file, name) for file in FILES), name


DELTAS = """
const bytes = (text) => new DataView(Uint8Array.from(Buffer.from(text, "base64")).buffer);
const revived = (key, value) => (value?.base64 === undefined ? value : bytes(value.base64));
const plain = (key, value) =>
  value instanceof DataView ? { base64: Buffer.from(value.buffer).toString("base64") } : value;
const values = {}, listeners = {}, sent = [], seen = [];
applyDeltas({
  get: (name) => values[name],
  on: (event, call) => (listeners[event] = call),
  send: (message) => sent.push(message.type),
});
for (const { name, value } of JSON.parse(MESSAGES, revived)) {
  values[name] = value;
  listeners[`change:${name}`]();
  seen.push({ value: JSON.parse(JSON.stringify(values[name], plain)), sent: [...sent] });
}
console.log(JSON.stringify(seen));
"""


def in_text(value: object) -> object:
    """A value with its bytes as base64."""
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, dict):
        return {name: in_text(part) for name, part in value.items()}
    return value


def test_the_page_makes_whole_values_of_what_python_sends() -> None:
    """deltas.js gives back the value of which `delta` says what changed, and asks for it if one was lost."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed; tests/browser edits as well")
    rng = np.random.default_rng(5)
    words = rng.integers(0, 1 << 32, size=64, dtype=np.uint32)
    other = words.copy()
    other[[0, 17, 63]] ^= 1
    registers = [{"hex": f"0x{word:08x}", "fields": []} for word in words[:4]]
    edited = [registers[0], {"hex": "0x0000002a", "fields": [{"text": "é"}]}, *registers[2:]]
    first = {"codes": words.tobytes(), "count": 1, "chips": ["sm_80", "sm_90"]}
    second = {"codes": other.tobytes(), "count": 2, "chips": ["sm_80", "sm_100"]}
    whole = {"codes": bytes(256), "count": 2, "chips": ["sm_80", "sm_100"]}  # of which most is new
    lanes, edited_lanes = {"5": {"A": registers, "B": registers}}, {"5": {"A": edited, "B": registers}}
    steps: list[tuple[str, object, object]] = [
        ("A", None, first),
        ("A", first, second),
        ("A", second, whole),
        ("lane_registers", None, lanes),
        ("lane_registers", lanes, edited_lanes),
    ]
    messages = []
    versions = {"A": 0, "lane_registers": 0}
    for name, old, new in steps:
        change = None if old is None else delta(old, new)
        since = {} if change is None else {"since": versions[name]}
        versions[name] += 1
        message = {**(new if change is None else change), **since, "version": versions[name]}  # type: ignore[dict-item]
        messages.append({"name": name, "value": in_text(message)})
    lost = {"parts": {"count": {"new": 9}}, "since": 7, "version": 8}
    messages.append({"name": "A", "value": lost})
    text = json.dumps(json.dumps(messages))
    done = subprocess.run(
        [node, "--input-type=module"],
        input=f"{bundle.script('common/deltas')}\n{DELTAS.replace('MESSAGES', text)}",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    *seen, after_loss = json.loads(done.stdout)
    for (name, _, new), message, shown in zip(steps, messages, seen, strict=False):
        version = message["value"]["version"]  # type: ignore[index]
        assert shown == {"value": {**in_text(new), "version": version}, "sent": []}, name  # type: ignore[dict-item]
    assert after_loss == {"value": lost, "sent": ["resend_matrices"]}

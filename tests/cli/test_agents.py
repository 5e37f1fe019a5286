"""Pages that are followed to the letter: SKILL.md, AGENTS.md, "Bring your assignment"; and llms.txt."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from ptxlab.cli import main
from tools.site import agents

ROOT = Path(__file__).resolve().parents[2]
FILES = re.compile(r"^`([\w./]+)`[^\n]*:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SCRIPT = """\
import numpy as np, ptxlab
ptxlab.kernel(open("saxpy.cu").read()).launch(1, 32, 2.0, *np.ones((3, 32), np.float32), 32)
"""


def commands(text: str) -> list[str]:
    """The calls of ptxlab in blocks and between backticks."""
    text = text.replace("\\\n", "")
    blocks = re.findall(r"^(ptxlab .*)$", "".join(re.findall(r"^```sh\n.*?^```", text, re.M | re.S)), re.M)
    marks = [found for found in re.findall(r"`(ptxlab \w+ [^`]+)`", text) if "COMMAND" not in found]
    return [re.sub(r"\s+#.*", "", line) for line in (*blocks, *marks)]


@pytest.mark.slow
@pytest.mark.needs("cuda.core")
@pytest.mark.parametrize("page", ["SKILL.md", "AGENTS.md", "docs/guide/assignment.md"])
def test_every_command_of_a_page_runs(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / page).read_text(encoding="utf-8")
    files = FILES.findall((ROOT / "SKILL.md").read_text(encoding="utf-8") if page == "AGENTS.md" else text)
    for name, content in files:
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(content, encoding="utf-8")
    twice = "__global__ void twice(const float* x, float* y) "
    twice += "{ int i = blockIdx.x * blockDim.x + threadIdx.x; y[i] = 2 * x[i]; }"
    Path("kernel.cu").write_text(twice, encoding="utf-8")
    for script in ("train.py", "script.py"):
        Path(script).write_text(SCRIPT, encoding="utf-8")
    assert len(commands(text)) >= 4
    for command in commands(text):
        words = shlex.split(command)[1:]
        if words == ["mcp"]:  # test_mcp.py
            continue
        if "TASK" in words:  # a folder of the reader's
            assert main([words[0], "--help"]) == 0
            continue
        assert main(words) == 0, command
        assert "hazard:" not in capsys.readouterr().out, command


def test_the_front_matter_is_that_of_a_skill() -> None:
    yaml = pytest.importorskip("yaml")
    text = (ROOT / "SKILL.md").read_text(encoding="utf-8")
    facts = yaml.safe_load(text.split("---\n")[1])
    assert set(facts) == {"name", "description"} and facts["name"] == "ptxlab"
    assert 100 < len(facts["description"]) < 1024 and len(text.splitlines()) < 200


def test_one_page_of_the_site_tells_an_agent_how_to_verify_a_kernel(tmp_path: Path) -> None:
    """llms.txt: a title, a summary, the way to a verdict, then links to pages that are there as Markdown."""
    source, site = tmp_path / "source", tmp_path / "site"
    for name in ("index.md", "guide/kernels.md", "reference/hazards.md"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text((ROOT / "docs" / name).read_text(encoding="utf-8"), encoding="utf-8")
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).with_suffix(".html").touch()
    agents.write_markdown(source, site)
    text = (site / "llms.txt").read_text(encoding="utf-8")
    assert re.match(r"# ptxlab\n\n> [^\n]+\n\n## Verify a GPU kernel", text)
    for command in ("simulate", "judge", "profile", "check", "mcp"):
        assert f"ptxlab {command}" in text
    links = re.findall(r"\]\(([\w./-]+\.md)\)", text)
    assert links == ["guide/kernels.md", "reference/hazards.md"]
    for link in links:
        page = (site / link).read_text(encoding="utf-8")
        assert page.startswith("# ") and "{toctree}" not in page and "\n:::" not in page

"""`ptxlab mcp`, over stdin and stdout, with the client of the official SDK."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ptxlab.cli import main

pytestmark = [pytest.mark.needs("mcp", "psutil"), pytest.mark.slow]

HEAD = ".version 8.0\n.target sm_90a\n.address_size 64\n"
#: y = x + x, by one thread, and the same by a product.
ADDED, TIMES_TWO = (
    HEAD + ".entry twice(.param .u64 x, .param .u64 y) { .reg .b64 %a<3>; .reg .f32 %f<3>;\n"
    "ld.param.u64 %a1, [x]; ld.param.u64 %a2, [y]; ld.global.f32 %f1, [%a1];\n"
    f"{line}\nst.global.f32 [%a2], %f2; ret; }}"
    for line in ("add.f32 %f2, %f1, %f1;", "mul.f32 %f2, %f1, 0f40000000;")
)
ENDLESS = HEAD + ".entry endless() { L: bra L; }"


@contextlib.asynccontextmanager
async def connected(folder: Path) -> AsyncIterator[Any]:
    from mcp import Client, StdioServerParameters, stdio_client

    command = StdioServerParameters(
        command=sys.executable, args=["-m", "ptxlab", "mcp"], env={**os.environ}, cwd=folder
    )
    async with Client(stdio_client(command)) as client:
        yield client


def test_an_agent_asks_simulates_and_compares(tmp_path: Path) -> None:
    async def session() -> None:
        async with connected(tmp_path) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert set(tools) == {"judge", "check", "simulate", "profile", "compare", "ask"}
            assert all(tool.description for tool in tools.values())

            answer = await client.call_tool("ask", {"question": "A[9][37] of mma.m16n8k64.s4"})
            text, link = answer.content
            assert answer.structured_content["command"] == "ptxlab where mma.m16n8k64.s4 A 9 37"
            assert "     4  a29             3  [23..20]" in json.loads(text.text)["answer"]
            assert json.loads((await client.read_resource(link.uri)).contents[0].text)["text"]
            refused = await client.call_tool("ask", {"question": "mma.m17n8k64.s4"})
            assert refused.is_error and "m17n8k64" in refused.content[0].text

            Path(tmp_path, "twice.ptx").write_text(ADDED, encoding="utf-8")
            launch = {"arguments": ["ones:f4:1", "zeros:f4:1"], "block": "1"}
            result = await client.call_tool("simulate", {"kernel": "twice.ptx", **launch})
            facts = result.structured_content
            assert facts["kernel"] == "twice" and facts["hazards"] == "none"
            assert [array["values"] for array in facts["arrays"]] == ["1.0", "2.0"]
            whole = json.loads((await client.read_resource(result.content[1].uri)).contents[0].text)
            assert whole["counts"]["add.f32"] == 1
            missing = await client.call_tool("profile", {"kernel": "none.cu", "arguments": []})
            assert missing.is_error and "there is no such file" in missing.content[0].text

            both = {"kernel": ADDED, "other": TIMES_TWO}
            result = await client.call_tool("compare", {**both, **launch})
            facts = result.structured_content
            assert facts["other_bits"] == "none" and facts["first"] == [0]
            assert [operation["opcode"] for operation in facts["operations"]] == ["add.f32", "mul.f32"]

            script = "import ptxlab, numpy as np\nk = ptxlab.kernel(open('twice.ptx').read())\n"
            script += "k.launch(1, 1, np.ones(1, np.float32), np.ones(0, np.float32))\n"
            Path(tmp_path, "run.py").write_text(script, encoding="utf-8")
            facts = (await client.call_tool("check", {"file": "run.py"})).structured_content
            assert facts["verdict"] == "hazard" and "run.py:3: hazard" in facts["findings"][0]

    asyncio.run(session())


def running(word: str) -> list[Any]:
    """The processes that have a word in their command."""
    import psutil

    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if any(word in part for part in process.cmdline()):
                found.append(process)
    return found


async def gone(word: str) -> bool:
    for _ in range(600):
        if not running(word):
            return True
        await asyncio.sleep(0.05)
    return False


def test_a_long_run_reports_progress_and_ends_when_it_is_cancelled(tmp_path: Path) -> None:
    file = tmp_path / f"endless-{tmp_path.name}.ptx"
    file.write_text(ENDLESS, encoding="utf-8")

    async def session() -> None:
        began = asyncio.Event()
        seconds: list[float] = []

        async def heard(progress: float, total: float | None, message: str | None) -> None:
            seconds.append(progress)
            assert "simulate" in str(message)
            began.set()

        async with connected(tmp_path) as client:
            endless = {"kernel": str(file), "arguments": [], "block": "1"}
            call = asyncio.create_task(client.call_tool("simulate", endless, progress_callback=heard))
            await asyncio.wait_for(began.wait(), 60)
            assert running(file.name) and seconds[0] > 0
            call.cancel()
            assert await gone(file.name)

            late = await client.call_tool("simulate", {**endless, "seconds": 0.5})
            assert late.is_error and "did not end within 0.5 seconds" in late.content[0].text
            assert await gone(file.name)

            began.clear()
            call = asyncio.create_task(client.call_tool("simulate", endless, progress_callback=heard))
            await asyncio.wait_for(began.wait(), 60)
        # the client has left
        assert await gone(file.name)
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await call

    asyncio.run(session())


def test_without_the_sdk_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "ptxlab.cli.mcp_tools", raising=False)
    monkeypatch.setitem(sys.modules, "mcp", None)
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    assert main(["mcp"]) == 1
    assert 'pip install "ptxlab[mcp]"' in capsys.readouterr().err

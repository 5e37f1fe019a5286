"""The command `mcp`: ptxlab's tools for language models, over the Model Context Protocol."""

from __future__ import annotations

import signal

from ..errors import PtxlabError
from .output import Style


def mcp(style: Style) -> int:
    """Six tools over stdin and stdout: judge, check, simulate, profile, compare and ask.

    A client starts this command itself. What it judges and checks are programs, which run on this machine.

    examples:
      claude mcp add ptxlab -- ptxlab mcp      or any other client of MCP
    """
    try:
        from .mcp_tools import server
    except ImportError as error:
        raise PtxlabError(
            f'the server needs {error.name}, which is not installed: pip install "ptxlab[mcp]"'
        ) from None
    # whoever ends the server ends what it runs: the interrupt goes through the tools that are at work
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    server.run("stdio")
    return 0

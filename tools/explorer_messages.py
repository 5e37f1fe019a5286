"""Write the types of the Explorer's messages for its JavaScript: `python -m tools.explorer_messages`."""

from __future__ import annotations

from pathlib import Path

from ptxlab import explorer
from ptxlab._util.files import write_atomically
from ptxlab.explorer.session import typescript

if __name__ == "__main__":
    path = Path(explorer.__file__).parent / "front" / "messages.d.ts"
    write_atomically(path, typescript())
    print(f"wrote {path}")

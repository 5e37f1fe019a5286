"""An Explorer in a bare page, without JupyterLab: for browser tests of what the Explorer itself does.

The widget's Python side runs in the process of the test; its messages pass through Playwright. A page is
there in a fraction of a second and draws nothing but the Explorer, where JupyterLab takes ten seconds of a
processor before its first cell runs. What a host contributes (themes, sizes, several views, lost connections)
is tested in the hosts themselves.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import hashlib
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

__all__ = ["BareBook", "BarePage", "saved_page"]

ADDRESS = "http://127.0.0.1:1/explorer"  # never fetched: a page of this machine may use the clipboard

HTML = """<!doctype html>
<meta charset="utf-8">
<style>body { margin: 8px; font: 13px "DejaVu Sans", sans-serif; }</style>
<style id="style"></style>
<div id="widget"></div>
"""

# The part of anywidget's model that the Explorer uses: traits with events, and messages both ways.
MODEL = """([code, style, state]) => {
  const bytes = (text) => new DataView(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
  function place({ state, paths, buffers }) {
    paths.forEach((path, index) => {
      const holder = path.slice(0, -1).reduce((part, key) => part[key], state);
      holder[path.at(-1)] = bytes(buffers[index]);
    });
    return state;
  }
  const traits = place(state), listeners = [], unsaved = new Set();
  const fire = (event, ...given) =>
    listeners.filter((each) => each.event === event).forEach((each) => each.call(...given));
  function update(values) {
    const names = Object.keys(values).filter((name) => traits[name] !== values[name]);
    Object.assign(traits, values);
    names.forEach((name) => fire(`change:${name}`));
    if (names.length) fire("change");
  }
  async function take(messages) {
    for (const message of messages) {
      if (message.method === "update") update(place(message));
      else fire("msg:custom", message.content, []);
      await new Promise((next) => setTimeout(next)); // each in a task of its own, as from a kernel
    }
  }
  const tell = (message) => window.toPython(message).then(take);
  const model = {
    get: (name) => traits[name],
    set(name, value) { unsaved.add(name); update({ [name]: value }); },
    save_changes() {
      const changed = Object.fromEntries([...unsaved].map((name) => [name, traits[name]]));
      unsaved.clear();
      tell({ method: "update", state: changed });
    },
    send: (content) => tell({ method: "custom", content }),
    on: (event, call) => listeners.push({ event, call }),
    off(event, call) {
      const kept = listeners.filter(
        (each) => (event && each.event !== event) || (call && each.call !== call));
      listeners.splice(0, listeners.length, ...kept);
    },
  };
  window.fromPython = take;
  document.getElementById("style").textContent = style;
  const address = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  return import(address).then(async ({ default: widget }) => {
    widget.initialize?.({ model });
    await widget.render({ model, el: document.getElementById("widget") });
  });
}"""


class _Messages:
    """What the widget sends, kept until the page takes it; it stands in for the comm of a kernel."""

    def __init__(self) -> None:
        self.comm_id = "bare"
        self.waiting: list[dict[str, Any]] = []

    def send(self, data: Any = None, metadata: Any = None, buffers: Any = None) -> None:
        match data:
            case {"method": "update", "state": state, **rest}:
                message = {"method": "update", "state": state, "paths": rest.get("buffer_paths", [])}
                message["buffers"] = [_text(buffer) for buffer in buffers or []]
                self.waiting.append(message)
            case {"method": "custom", "content": content}:
                self.waiting.append({"method": "custom", "content": content})

    def take(self) -> list[dict[str, Any]]:
        """The messages so far, once, as JSON has them."""
        messages: list[dict[str, Any]] = json.loads(json.dumps(self.waiting))
        self.waiting.clear()
        return messages

    def on_msg(self, _: Callable[..., None]) -> None:
        """The page's messages do not come this way."""

    def close(self, *_: Any, **__: Any) -> None:
        """Nothing is open."""


def _text(buffer: Any) -> str:
    return base64.b64encode(bytes(buffer)).decode()


class BarePage:
    """Opens Explorers in a page as `tools.jupyter.Lab` opens notebooks."""

    def open(self, page: Any, name: str, cells: list[str]) -> BareBook:
        """A page for an Explorer that the first cell shows, as its last expression."""
        page.route(ADDRESS, lambda route: route.fulfill(body=HTML, content_type="text/html"))
        page.goto(ADDRESS)
        return BareBook(page, cells)


class BareBook:
    """Cells of Python, and the Explorer of the last one that showed one."""

    def __init__(self, page: Any, cells: list[str]) -> None:
        self.page, self.cells = page, cells
        self._names: dict[str, Any] = {"__name__": "__main__"}
        self._messages = _Messages()
        self._widget: Any = None
        page.expose_function("toPython", self._receive)

    def run(self, index: int, code: str | None = None) -> str:
        """Run one cell, with other code where some is given, and return what it prints."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            shown = _execute(self.cells[index] if code is None else code, self._names)
        widget = shown.page if hasattr(shown, "view") else shown
        if hasattr(widget, "_esm"):
            self._mount(widget)
        else:
            self._send()
        return printed.getvalue().strip()

    def _mount(self, widget: Any) -> None:
        from ipywidgets.widgets.widget import _remove_buffers

        self.page.wait_for_load_state()
        widget.comm = self._messages
        state, paths, buffers = _remove_buffers(widget.get_state())
        whole = {"state": state, "paths": paths, "buffers": [_text(buffer) for buffer in buffers]}
        self._messages.take()
        self._widget = widget
        self.page.evaluate(MODEL, [widget._esm, widget._css, json.loads(json.dumps(whole))])

    def _send(self) -> None:
        messages = self._messages.take()
        if messages:
            self.page.evaluate("messages => window.fromPython(messages)", messages)

    def _receive(self, message: dict[str, Any]) -> list[dict[str, Any]]:
        """What the page sends, and what the widget answers."""
        self._widget._handle_msg({"content": {"data": message}, "buffers": []})
        return self._messages.take()


def _execute(code: str, names: dict[str, Any]) -> Any:
    """Run code as a notebook does: the value of its last line, if that is an expression."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<cell>", "exec"), names)
    if last is None or not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)


def saved_page(folder: Path, mnemonic: str, lanes: Sequence[int] = (0,), **traits: Any) -> str:
    """The address of an Explorer saved as a page; the same one is saved only once in a folder."""
    import ptxlab

    key = hashlib.sha256(repr((mnemonic, tuple(lanes), traits)).encode()).hexdigest()
    path = folder / f"{key[:16]}.html"
    if not path.exists():
        explorer = ptxlab.explore(mnemonic)
        explorer.lanes = list(lanes)
        for trait, value in traits.items():
            setattr(explorer.view, trait, value)
        explorer.save_html(path)
    return path.as_uri()

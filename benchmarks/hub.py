"""Several students at once take a lesson on a JupyterHub on loopback; time and memory of each.

It needs JupyterHub (pip install "jupyterhub>=5.3") and its proxy (npm install configurable-http-proxy, found
on PATH or named by --proxy). The hub lives in a folder of its own, listens on loopback only and ends with the
script; its students share a random password that no other user of the machine sees.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any

from ptxlab._util.files import write_atomically

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"
RESULTS = Path(__file__).parent / "results.json"
CONFIG = """
import os

c.JupyterHub.bind_url = "http://127.0.0.1:{port}"
c.JupyterHub.hub_port = {hub}
c.JupyterHub.hub_ip = "127.0.0.1"
c.JupyterHub.authenticator_class = "shared-password"
c.SharedPasswordAuthenticator.user_password = os.environ["PTXLAB_HUB_PASSWORD"]
c.Authenticator.allow_all = True
c.JupyterHub.spawner_class = "simple"
c.ConfigurableHTTPProxy.command = {proxy!r}
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{api}"
c.SimpleLocalProcessSpawner.home_dir_template = {homes!r} + "/{{username}}"
c.Spawner.args = ["--allow-root"]
c.Spawner.environment = {{"PTXLAB_PROGRESS": "progress.json"}}
c.Spawner.env_keep = ["PATH", "PYTHONPATH", "LANG", "VIRTUAL_ENV", "JUPYTER_PATH", "JUPYTER_CONFIG_PATH"]
c.Spawner.start_timeout = 120
c.Spawner.http_timeout = 120
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Student:
    """One who logs in with a password, starts a server and runs a notebook in it, as a browser would."""

    def __init__(self, hub: str, name: str, password: str) -> None:
        self.hub, self.name, self.password = hub, name, password
        self.jar = CookieJar()
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.jar))
        self.took: dict[str, float] = {}
        self.problem = ""

    def ask(self, path: str, data: Any = None, method: str | None = None) -> Any:
        body = data
        if data is not None and not isinstance(data, bytes):
            body = json.dumps(data).encode()
        request = urllib.request.Request(f"{self.hub}{path}", body, method=method)
        xsrf = [
            cookie.value for cookie in self.jar if cookie.name == "_xsrf" and path.startswith(cookie.path)
        ]
        if xsrf:
            request.add_header("X-XSRFToken", str(xsrf[-1]))
        if isinstance(data, dict):
            request.add_header("Content-Type", "application/json")
        try:
            with self.opener.open(request, timeout=120) as answer:
                text = answer.read().decode()
                return json.loads(text) if "json" in answer.headers.get("Content-Type", "") and text else text
        except urllib.error.HTTPError as error:
            raise OSError(f"{error.url}: {error}") from None

    def log_in(self) -> None:
        self.ask("/hub/login")
        (xsrf,) = {cookie.value for cookie in self.jar if cookie.name == "_xsrf"}
        fields = {"username": self.name, "password": self.password, "_xsrf": xsrf}
        self.ask("/hub/login", urllib.parse.urlencode(fields).encode())
        for _ in range(240):
            try:
                self.ask(f"/user/{self.name}/lab")  # also lets the server know the student
                self.ask(f"/user/{self.name}/api/status")
                return
            except (OSError, json.JSONDecodeError):
                time.sleep(0.5)
        raise TimeoutError(f"the server of {self.name} did not start")

    def run(self, lesson: str) -> int:
        """All code cells of the lesson, one after the other; how many there were."""
        import websocket

        at = f"/user/{self.name}"
        kernel = self.ask(f"{at}/api/kernels", {"name": "python3"})["id"]
        cookies = "; ".join(
            f"{cookie.name}={cookie.value}" for cookie in self.jar if f"{at}/api".startswith(cookie.path)
        )
        line = websocket.create_connection(
            f"{self.hub.replace('http', 'ws')}{at}/api/kernels/{kernel}/channels", cookie=cookies, timeout=180
        )
        book = json.loads((NOTEBOOKS / f"{lesson}.ipynb").read_text(encoding="utf-8"))
        cells = ["".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == "code"]
        for source in cells:
            self._execute(line, source)
        line.close()
        return len(cells)

    def _execute(self, line: Any, source: str) -> None:
        name = secrets.token_hex(8)
        head = {
            "msg_id": name,
            "msg_type": "execute_request",
            "username": self.name,
            "session": name,
            "version": "5.3",
            "date": "",
        }
        content = {
            "code": source,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": False,
            "stop_on_error": True,
        }
        line.send(
            json.dumps(
                {
                    "header": head,
                    "parent_header": {},
                    "metadata": {},
                    "content": content,
                    "channel": "shell",
                    "buffers": [],
                }
            )
        )
        while True:
            text = line.recv()
            if isinstance(text, bytes):  # with buffers: what the widgets send
                continue
            message = json.loads(text)
            if message.get("parent_header", {}).get("msg_id") != name:
                continue
            if message["msg_type"] == "error":
                raise RuntimeError(f"{message['content']['ename']}: {message['content']['evalue']}")
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                return

    def attend(self, lesson: str, gate: threading.Barrier) -> None:
        try:
            gate.wait()
            for name, task in (("log in", self.log_in), ("lesson", lambda: self.run(lesson))):
                start = time.perf_counter()
                task()
                self.took[name] = time.perf_counter() - start
        except Exception as error:  # told in the table
            self.problem = f"{type(error).__name__}: {error}"


def memory(folder: Path, name: str) -> dict[str, float]:
    """Megabytes of a student's server and kernels, with their share of memory that is shared (PSS)."""
    megabytes = {"server": 0.0, "kernel": 0.0}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").resolve() != folder / name:
                continue
            words = (process / "cmdline").read_bytes().decode().split("\0")
            share = next(
                line
                for line in (process / "smaps_rollup").read_text().splitlines()
                if line.startswith("Pss:")
            )
        except (OSError, StopIteration):
            continue
        megabytes["kernel" if "ipykernel_launcher" in words else "server"] += int(share.split()[1]) / 1e3
    return megabytes


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.hub", description=str(__doc__).splitlines()[0]
    )
    parser.add_argument("--students", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--lesson", default="01-fragments")
    parser.add_argument("--proxy", default=shutil.which("configurable-http-proxy") or "")
    parser.add_argument(
        "--record",
        action="store_true",
        help="keep the figures in benchmarks/results.json, for docs/teaching.md",
    )
    args = parser.parse_args()
    if not args.proxy:
        parser.error(
            "configurable-http-proxy is not on PATH: npm install configurable-http-proxy, "
            "then --proxy node_modules/.bin/configurable-http-proxy"
        )
    runs = [hold(count, args.lesson, args.proxy) for count in args.students]
    if args.record:
        recorded = json.loads(RESULTS.read_text(encoding="utf-8"))
        recorded["hub"] = {"lesson": args.lesson, "cores": os.cpu_count(), "runs": runs}
        write_atomically(RESULTS, json.dumps(recorded, indent=1) + "\n")
    return 0


def hold(count: int, lesson: str, proxy: str) -> dict[str, float]:
    """A hub of its own for so many students."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve()
        for number in range(count):
            (folder / f"student{number}").mkdir()
        ports = {"port": free_port(), "hub": free_port(), "api": free_port()}
        (folder / "jupyterhub_config.py").write_text(
            CONFIG.format(**ports, proxy=[proxy], homes=str(folder)), encoding="utf-8"
        )
        password = secrets.token_hex(16)
        environment = {
            **os.environ,
            "CONFIGPROXY_AUTH_TOKEN": secrets.token_hex(16),
            "PTXLAB_HUB_PASSWORD": password,
        }
        with (folder / "hub.log").open("w") as log:
            hub = subprocess.Popen(
                [sys.executable, "-m", "jupyterhub"], cwd=folder, stdout=log, stderr=log, env=environment
            )
            try:
                return attend(f"http://127.0.0.1:{ports['port']}", password, folder, count, lesson)
            except BaseException:
                print((folder / "hub.log").read_text()[-3000:], file=sys.stderr)
                raise
            finally:
                hub.terminate()
                hub.wait(30)


def attend(hub: str, password: str, folder: Path, count: int, lesson: str) -> dict[str, float]:
    """Let them in, all at once; prints what each took, and gives the means."""
    for _ in range(120):
        try:
            urllib.request.urlopen(f"{hub}/hub/login", timeout=5).close()
            break
        except OSError:
            time.sleep(0.5)
    students = [Student(hub, f"student{number}", password) for number in range(count)]
    gate = threading.Barrier(count)
    threads = [threading.Thread(target=student.attend, args=(lesson, gate)) for student in students]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    problems = [f"{student.name}: {student.problem}" for student in students if student.problem]
    if problems:
        raise RuntimeError("; ".join(problems))
    print(f"{lesson}, {count} at once, {os.cpu_count()} cores; memory in MB with the lesson's explorers open")
    print(f"{'':<10} {'log in s':>9} {'lesson s':>9} {'server':>8} {'kernel':>8} {'both':>8}")
    rows = []
    for student in students:
        row = {**student.took, **memory(folder, student.name)}
        row["both"] = row["server"] + row["kernel"]
        rows.append(row)
        seconds = f"{row['log in']:>9.1f} {row['lesson']:>9.1f}"
        megabytes = f"{row['server']:>8.0f} {row['kernel']:>8.0f} {row['both']:>8.0f}"
        print(f"{student.name:<10} {seconds} {megabytes}", flush=True)
    return {"students": count, **{name: round(sum(row[name] for row in rows) / count, 1) for name in rows[0]}}


if __name__ == "__main__":
    sys.exit(main())

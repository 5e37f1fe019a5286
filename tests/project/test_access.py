"""Servers that tests, tools and benchmarks start let nobody else in, and no page advises to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import hub

from .test_packaging import files, text

ROOT = Path(__file__).resolve().parents[2]
#: What would let others in: fixed or empty tokens and passwords, those on a command line, open addresses.
OPEN = re.compile(
    r"""
    (?:token|password)[ \t]*[=:][ \t]*["'](?!\s*\+)[^"'{}]*["']  # token = "fixed", password=""
    | ["']password["']\s*:\s*["']
    | --(?:\w+\.)?(?:token|password)=
    | [?&]token=\w
    | \b0\.0\.0\.0\b | --ip[= ]["']?\*
    | allow_origin | disable_check_xsrf | allow_unauthenticated | allow_remote_access
    | --remote-debugging-port | no.?auth
    """,
    re.X | re.I,
)


@pytest.mark.slow
def test_no_token_or_password_is_fixed() -> None:
    places = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in files()
        if path != Path(__file__).resolve()
        for match in OPEN.finditer(text(path) or "")
    ]
    assert places == []


def test_teachers_are_told_whom_to_let_in() -> None:
    yaml = pytest.importorskip("yaml")
    advice = (ROOT / "docs" / "teaching.md").read_text(encoding="utf-8")
    assert "`Authenticator.allowed_users`" in advice and "over HTTPS" in advice
    assert not re.search(r"dummy|allow_all|sharedpassword|nullauth", advice, re.I)
    for block in re.findall(r"```yaml\n(.*?)```", advice, re.S):
        config = yaml.safe_load(block)["hub"]["config"]  # without one, Zero to JupyterHub takes any password
        assert config["JupyterHub"]["authenticator_class"] == "github"
        assert config["Authenticator"]["allowed_users"]


@pytest.mark.parametrize(
    "text",
    [
        'TOKEN = "ptxlab"',
        "c.IdentityProvider.token = ''",
        "jupyter lab --IdentityProvider.token=T",
        "--ServerApp.password=",
        '{"username": name, "password": "any"}',
        "http://127.0.0.1:8888/lab?token=abc",
        "jupyter lab --ip 0.0.0.0",
        "--ip='*'",
    ],
)
def test_it_would_be_found(text: str) -> None:
    assert OPEN.search(text)


def test_the_hub_of_the_benchmark_has_a_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It listens on loopback; the password is new in every run, and in the hub's environment alone."""
    started: list[tuple[list[str], dict[str, str], str]] = []

    class Process:
        def __init__(self, command: list[str], env: dict[str, str], cwd: Path, **options: object) -> None:
            started.append((command, env, (cwd / "jupyterhub_config.py").read_text()))

        def terminate(self) -> None:
            pass

        def wait(self, seconds: float) -> None:
            pass

    passwords: list[str] = []

    def attend(address: str, password: str, *rest: object) -> dict[str, float]:
        assert address.startswith("http://127.0.0.1:")
        passwords.append(password)
        return {}

    monkeypatch.setattr(hub.subprocess, "Popen", Process)
    monkeypatch.setattr(hub, "attend", attend)
    for _ in range(2):
        hub.hold(1, "01-fragments", "proxy")
    assert len(set(passwords)) == 2 and all(len(password) >= 32 for password in passwords)
    for (command, environment, config), password in zip(started, passwords, strict=True):
        assert environment["PTXLAB_HUB_PASSWORD"] == password
        assert password not in " ".join(command) and password not in config
        assert 'c.SharedPasswordAuthenticator.user_password = os.environ["PTXLAB_HUB_PASSWORD"]' in config
        assert '"PTXLAB_HUB_PASSWORD"' not in config.split("env_keep")[1]
        assert 'bind_url = "http://127.0.0.1:' in config and 'hub_ip = "127.0.0.1"' in config

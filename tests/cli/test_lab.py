"""`ptxlab lab`: copies of the notebooks that keep what the reader changed, and JupyterLab on them."""

from __future__ import annotations

import errno
import json
import os
import sys
from pathlib import Path

import pytest

from ptxlab import PtxlabError
from ptxlab._util import files
from ptxlab.cli import lab, main
from tests.cases import refuses

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Two original notebooks, as short as they get."""
    folder = tmp_path / "originals"
    folder.mkdir()
    for name in ("00-first", "01-second"):
        (folder / f"{name}.ipynb").write_text(f"{name}, version 1")
    return folder


@pytest.fixture
def started(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The command lines that `ptxlab lab` would start JupyterLab with, in a folder of its own."""
    calls: list[list[str]] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", "/mine")
    monkeypatch.setattr(lab, "notebooks", lambda: source)
    monkeypatch.setattr(lab, "_start", lambda words: calls.append(words) or 0)
    monkeypatch.setattr(lab.importlib.util, "find_spec", lambda name: object())
    return calls


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(folder.glob("*.ipynb"))}


def test_the_originals_are_the_notebooks_of_the_repository() -> None:
    """In a checkout they are the same files, in an installed wheel the same contents."""
    originals = lab.notebooks()
    if (ROOT / "ptxlab").exists():
        assert originals == ROOT / "notebooks"
    assert contents(originals) == contents(ROOT / "notebooks")


def test_copies_what_is_missing(source: Path, tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "copies"
    copied = lab.copy_notebooks(source, folder)
    assert copied.new == ["00-first.ipynb", "01-second.ipynb"]
    assert contents(folder) == contents(source)
    (folder / "00-first.ipynb").unlink()
    assert lab.copy_notebooks(source, folder).new == ["00-first.ipynb"]
    assert str(lab.copy_notebooks(source, folder)) == "all notebooks are up to date"


@pytest.mark.parametrize("update", [False, True])
def test_never_overwrites_what_the_reader_changed(source: Path, tmp_path: Path, update: bool) -> None:
    folder = tmp_path / "copies"
    lab.copy_notebooks(source, folder)
    (folder / "00-first.ipynb").write_text("my answers")
    copied = lab.copy_notebooks(source, folder, update=update)
    assert copied == lab.Copied()  # the reader has had this version
    for name in ("00-first", "01-second"):
        (source / f"{name}.ipynb").write_text(f"{name}, version 2")
    copied = lab.copy_notebooks(source, folder, update=update)
    if update:
        assert copied == lab.Copied(replaced=["01-second.ipynb"], beside=["00-first.new.ipynb"])
        assert contents(folder) == {
            "00-first.ipynb": "my answers",
            "00-first.new.ipynb": "00-first, version 2",
            "01-second.ipynb": "01-second, version 2",
        }
    else:
        assert copied == lab.Copied(outdated=["00-first.ipynb", "01-second.ipynb"])
        assert "`ptxlab lab --update`" in str(copied)
        assert contents(folder) == {"00-first.ipynb": "my answers", "01-second.ipynb": "01-second, version 1"}


def test_updates_again(source: Path, tmp_path: Path) -> None:
    """A new version put beside is replaced by the next one, unless the reader changed it, too."""
    folder, original = tmp_path / "copies", source / "00-first.ipynb"
    lab.copy_notebooks(source, folder)
    (folder / "00-first.ipynb").write_text("my answers")
    for version in (2, 3):
        original.write_text(f"version {version}")
        assert lab.copy_notebooks(source, folder, update=True).beside == ["00-first.new.ipynb"]
        assert lab.copy_notebooks(source, folder, update=True) == lab.Copied()
    assert (folder / "00-first.new.ipynb").read_text() == "version 3"
    (folder / "00-first.new.ipynb").write_text("more of my answers")
    original.write_text("version 4")
    assert lab.copy_notebooks(source, folder, update=True).beside == ["00-first.new-2.ipynb"]
    kept = contents(folder)
    assert kept["00-first.ipynb"] == "my answers"
    assert kept["00-first.new.ipynb"] == "more of my answers"
    assert kept["00-first.new-2.ipynb"] == "version 4"


@pytest.mark.parametrize("manifest", [None, "{", "[]", '{"00-first.ipynb": 3}'])
def test_without_a_manifest_everything_counts_as_changed(
    source: Path, tmp_path: Path, manifest: str | None
) -> None:
    folder = tmp_path / "copies"
    folder.mkdir()
    (folder / "00-first.ipynb").write_text("from elsewhere")
    if manifest is not None:
        (folder / lab.MANIFEST).write_text(manifest)
    copied = lab.copy_notebooks(source, folder, update=True)
    assert copied == lab.Copied(new=["01-second.ipynb"], beside=["00-first.new.ipynb"])
    assert (folder / "00-first.ipynb").read_text() == "from elsewhere"
    assert set(json.loads((folder / lab.MANIFEST).read_text())) == set(contents(folder))


def test_a_file_in_the_way(source: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refuses("is a file; name a folder with --to", lab.copy_notebooks, source, tmp_path / "file")
    refuses("cannot be copied there", lab.copy_notebooks, source, tmp_path / "file" / "below")


def test_links_and_folders_of_others_are_refused(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else may have put them there, and wait for what is written through them."""
    victim, folder = tmp_path / "victim", tmp_path / "copies"
    victim.write_text("mine")
    folder.mkdir()
    for name in ("00-first.ipynb", lab.MANIFEST, "01-second.new.ipynb"):
        for target in (victim, tmp_path / "nowhere"):
            (folder / name).symlink_to(target)
            (folder / "01-second.ipynb").write_text("changed")
            if "new" in name:
                assert lab.copy_notebooks(source, folder, update=True).beside == ["01-second.new-2.ipynb"]
            else:
                refuses(
                    "it is a link|is a link; move it away", lab.copy_notebooks, source, folder, update=True
                )
            for file in folder.iterdir():
                file.unlink()
    assert victim.read_text() == "mine" and not (tmp_path / "nowhere").exists()
    (tmp_path / "link").symlink_to(folder)
    refuses("is a link; name the folder itself with --to", lab.copy_notebooks, source, tmp_path / "link")
    monkeypatch.setattr(lab.os, "geteuid", lambda: folder.stat().st_uid + 1, raising=False)
    refuses("belongs to another user; name one of your own", lab.copy_notebooks, source, folder)


@pytest.mark.parametrize("user", [0, 1000])
def test_starts_jupyterlab_on_the_copies(
    started: list[list[str]],
    source: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    user: int,
) -> None:
    monkeypatch.setattr(lab.os, "geteuid", lambda: user, raising=False)
    assert main(["lab", "--no-browser", "--port", "9999"]) == 0
    options = ["--no-browser", "--port", "9999", *(["--allow-root"] if user == 0 else [])]
    assert started == [
        [sys.executable, "-P", "-m", "jupyterlab", "ptxlab-notebooks", lab.FIRST_PAGE, *options]
    ]
    assert capsys.readouterr().out == f"{tmp_path / 'ptxlab-notebooks'}: 2 notebooks copied\n"
    assert contents(tmp_path / "ptxlab-notebooks") == contents(source)
    assert main(["lab", "--to", "mine", "--copy-only"]) == 0
    assert contents(tmp_path / "mine") == contents(source) and len(started) == 1


@pytest.mark.filterwarnings("ignore:SOCKS support")  # requests, which JupyterLab imports, asks for it
def test_opens_on_the_first_notebook_without_news(started: list[list[str]]) -> None:
    """`ptxlab lab`, beside the reader's own configuration, and `make lab`."""
    assert (ROOT / "notebooks" / lab.FIRST_PAGE.partition("/lab/tree/")[2]).is_file()
    assert main(["lab"]) == 0 and lab.FIRST_PAGE in started[0]
    assert os.environ["JUPYTER_CONFIG_PATH"].split(os.pathsep) == [str(lab.CONFIGURATION), "/mine"]
    config = pytest.importorskip("jupyterlab_server.config")
    disabled = config.get_static_page_config()["disabledExtensions"]
    assert disabled["@jupyterlab/apputils-extension:announcements"]
    make = (ROOT / "Makefile").read_text(encoding="utf-8")
    folder = lab.CONFIGURATION.relative_to(Path(lab.__file__).parents[2]).as_posix()
    mine = "$${JUPYTER_CONFIG_PATH:+$(if $(WINDOWS),;,:)$$JUPYTER_CONFIG_PATH}"  # with os.pathsep between
    assert f'JUPYTER_CONFIG_PATH="$(CURDIR)/{folder}{mine}"' in make
    assert lab.FIRST_PAGE in make


def test_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(lab.importlib.util, "find_spec", lambda name: None)
    assert main(["lab"]) == 1
    assert 'pip install "ptxlab[lab]"' in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr(files, "__file__", str(tmp_path / "ptxlab" / "_util" / "files.py"))
    assert main(["lab", "--copy-only"]) == 1
    assert "has no notebooks" in capsys.readouterr().err


@pytest.mark.skipif(os.name != "posix", reason="POSIX keeps the home folder in HOME")
def test_without_a_home_it_says_so(
    started: list[list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """JupyterLab itself would end with a traceback."""
    for variable in ("JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "XDG_DATA_HOME"):
        monkeypatch.delenv(variable, raising=False)
    for home, problem in (
        ("", "there is none"),
        ("relative", "there is none"),
        (str(tmp_path / "no"), "cannot be written; set HOME"),
    ):
        monkeypatch.setenv("HOME", home)
        assert main(["lab"]) == 1
        message = capsys.readouterr().err
        assert "JupyterLab needs a home folder, and " in message and problem in message
    assert started == [] and not (tmp_path / "ptxlab-notebooks").exists()
    assert main(["lab", "--copy-only"]) == 0
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path))  # the user has seen to it
    assert main(["lab"]) == 0
    assert len(started) == 1


@pytest.mark.skipif(os.name != "posix", reason="POSIX keeps the home folder in HOME")
def test_a_tilde_is_the_home_folder(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A shell leaves that of --to=~/mine as it is."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", "/mine")
    monkeypatch.setattr(lab, "notebooks", lambda: source)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert main(["lab", "--copy-only", "--to=~/mine"]) == 0
    assert contents(tmp_path / "home" / "mine") == contents(source)
    assert main(["lab", "--copy-only", "--to=~no-such-user/mine"]) == 1
    assert "--to: found '~no-such-user/mine'; there is no such user" in capsys.readouterr().err
    assert not list(tmp_path.glob("~*"))


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
def test_what_is_no_notebook_stays(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "copies"
    folder.mkdir()
    os.mkfifo(folder / "00-first.ipynb")
    refuses("00-first.ipynb exists but is not a file", lab.copy_notebooks, source, folder)
    (folder / "00-first.ipynb").unlink()
    lab.copy_notebooks(source, folder)
    manifest = (folder / lab.MANIFEST).read_bytes()

    def stale(self: Path, **options: object) -> str:
        raise OSError(errno.ESTALE, "Stale file handle")

    with monkeypatch.context() as trouble:
        trouble.setattr(Path, "read_text", stale)
        with pytest.raises(PtxlabError, match=r"cannot be copied there \(Stale file handle\)"):
            lab.copy_notebooks(source, folder, update=True)
    assert (folder / lab.MANIFEST).read_bytes() == manifest

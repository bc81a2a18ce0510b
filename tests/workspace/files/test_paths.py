"""Where path texts lead, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.errors import OutsideWorkspaceError, ToolError
from pygent_ls.workspace.files.paths import Folders


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder `ws` with links of every kind, and secrets beside it."""
    root = tmp_path_factory.mktemp("paths").resolve()
    (root / "outside" / "deep").mkdir(parents=True)
    (root / "outside" / "secret").write_text("secret")
    ws = root / "ws"
    (ws / "a" / "b").mkdir(parents=True)
    (ws / "a" / "f").write_text("f")
    (ws / "in").symlink_to("a/b")
    (ws / "out").symlink_to("../outside")
    (ws / "deep").symlink_to(root / "outside" / "deep")
    (ws / "file").symlink_to(root / "outside" / "secret")
    (ws / "here").symlink_to(".")
    (ws / "up").symlink_to("..")
    (ws / "loop").symlink_to("loop")
    (ws / "ring1").symlink_to("ring2")
    (ws / "ring2").symlink_to("ring1")
    (ws / "gone").symlink_to("nowhere/at/all")
    (ws / "gone_out").symlink_to("../outside/nowhere")
    return root


PARTS = ["a", "b", "f", "in", "out", "deep", "file", "here", "up", "loop", "ring1", "gone", "gone_out", "new"]
PATHS = st.lists(
    st.sampled_from([*PARTS, "..", "..", ".", "", "ws", "outside", "secret", "ä ö"]), min_size=1, max_size=7
).map("/".join)


def test_relative_and_absolute_paths_lead_to_the_same_file(tree: Path) -> None:
    folders = Folders.of([tree / "ws"])

    assert folders.resolve("a/f") == tree / "ws" / "a" / "f"
    assert folders.resolve(str(tree / "ws" / "a" / "f")) == tree / "ws" / "a" / "f"
    assert folders.resolve("a/../a/./f") == tree / "ws" / "a" / "f"
    assert folders.resolve(".") == tree / "ws"
    assert folders.resolve("not/there/yet.py") == tree / "ws" / "not" / "there" / "yet.py"


def test_a_folder_that_is_a_link_may_be_named_as_given_or_as_resolved(tree: Path, tmp_path: Path) -> None:
    link = tmp_path / "project"
    link.symlink_to(tree / "ws")
    folders = Folders.of([link])

    assert folders.resolved == (tree / "ws",)
    assert folders.resolve(f"{link}/a/f") == folders.resolve(f"{tree}/ws/a/f") == tree / "ws" / "a" / "f"
    assert folders.resolve(str(link), follow=False) == tree / "ws"


def test_a_folder_stays_where_it_led_when_its_link_is_turned(tree: Path, tmp_path: Path) -> None:
    link = tmp_path / "project"
    link.symlink_to(tree / "ws")
    folders = Folders.of([link])
    link.unlink()
    link.symlink_to(tree / "outside")

    assert folders.resolve(f"{link}/secret") == tree / "ws" / "secret"


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../outside/secret",
        "/etc/passwd",
        "/",
        "out/secret",
        "deep/x",
        "file",
        "up/outside",
        "gone_out",
        "up/ws/..",
    ],
)
def test_a_path_out_of_the_folder_is_refused_with_its_name_and_the_folders(tree: Path, path: str) -> None:
    folders = Folders.of([tree / "ws"])

    with pytest.raises(OutsideWorkspaceError) as refusal:
        folders.resolve(path)

    assert path in str(refusal.value)
    assert str(tree / "ws") in str(refusal.value)


def test_a_folder_whose_name_merely_begins_alike_is_outside(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app-old").mkdir()

    with pytest.raises(OutsideWorkspaceError):
        Folders.of([tmp_path / "app"]).resolve("../app-old/x")


def test_the_parent_of_a_link_is_its_targets_parent(tree: Path) -> None:
    folders = Folders.of([tree / "ws"])

    assert folders.resolve("in/../f") == tree / "ws" / "a" / "f"
    with pytest.raises(OutsideWorkspaceError):
        folders.resolve("deep/../secret")


def test_links_in_a_circle_do_not_hide_a_way_out(tree: Path) -> None:
    folders = Folders.of([tree / "ws"])

    with pytest.raises(OutsideWorkspaceError, match="loop of links"):
        folders.resolve("loop/../loop/../out/secret")


def test_a_link_itself_can_be_named_to_delete_or_move_it(tree: Path) -> None:
    folders = Folders.of([tree / "ws"])

    assert folders.resolve("file", follow=False) == tree / "ws" / "file"
    assert folders.resolve("out/", follow=False) == tree / "ws" / "out"
    assert folders.resolve("loop", follow=False) == tree / "ws" / "loop"
    with pytest.raises(OutsideWorkspaceError):
        folders.resolve("out/secret", follow=False)
    with pytest.raises(OutsideWorkspaceError):
        folders.resolve("in/../../..", follow=False)


@given(path=PATHS, follow=st.booleans())
def test_whatever_is_resolved_is_inside_and_is_what_the_system_opens(tree: Path, path: str, follow: bool) -> None:
    ws = tree / "ws"
    folders = Folders.of([ws])
    asked = ws / path
    try:
        found = folders.resolve(path, follow=follow)
    except OutsideWorkspaceError:
        if follow and asked.exists():
            assert not asked.resolve().is_relative_to(ws)
        return
    except ToolError:
        assert not path.strip()
        return
    reached = found.parent if not follow and found != ws else found
    assert found.is_relative_to(ws)
    assert Path(os.path.realpath(reached)) == reached
    if follow and asked.exists() and found.exists():
        assert asked.samefile(found)


def test_with_several_folders_the_name_of_one_leads_into_it(tmp_path: Path) -> None:
    for name in ("app", "lib"):
        (tmp_path / name).mkdir()
    folders = Folders.of([tmp_path / "app", tmp_path / "lib", tmp_path / "app"])

    assert folders.resolve("x.py") == tmp_path / "app" / "x.py"
    assert folders.resolve("lib/x.py") == tmp_path / "lib" / "x.py"
    assert folders.resolve("lib") == tmp_path / "lib"
    assert folders.resolve("app/x.py") == tmp_path / "app" / "x.py"
    assert folders.resolve("../lib/x.py") == tmp_path / "lib" / "x.py"
    assert folders.shown(tmp_path / "lib" / "x.py") == "lib/x.py"
    assert folders.shown(tmp_path / "lib") == "lib"
    with pytest.raises(OutsideWorkspaceError):
        folders.resolve("lib/../../x")


NAMES = st.sampled_from(["app", "app-2", "lib", "src", "x.py"])
DIRECTORIES = st.lists(NAMES, min_size=1, max_size=3).map(lambda parts: Path("/nowhere-at-all", *parts))


@given(given_folders=st.lists(DIRECTORIES, min_size=1, max_size=5), inside=st.lists(NAMES, max_size=3), data=st.data())
def test_what_is_shown_can_be_given_back(given_folders: list[Path], inside: list[str], data: st.DataObject) -> None:
    folders = Folders.of(given_folders)
    path = data.draw(st.sampled_from(folders.resolved)).joinpath(*inside)

    assert folders.resolve(folders.shown(path)) == path


def test_one_folder_shows_its_paths_without_its_name(tree: Path) -> None:
    folders = Folders.of([tree / "ws"])

    assert folders.shown(tree / "ws" / "a" / "f") == "a/f"
    assert folders.shown(tree / "ws") == "."
    assert folders.shown(tree / "outside") == str(tree / "outside")


def test_the_root_of_the_file_system_may_be_a_folder(tmp_path: Path) -> None:
    folders = Folders.of(["/", tmp_path])

    assert folders.resolve("etc") == Path("/etc").resolve()
    assert folders.shown(Path("/nowhere-at-all")) == "/nowhere-at-all"
    assert folders.resolve(folders.shown(Path("/nowhere-at-all"))) == Path("/nowhere-at-all")


def test_a_name_that_is_not_utf_8_is_shown_in_text_that_can_be_sent(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9.txt")

    assert Folders.of([tmp_path]).shown(path) == "caf\\xe9.txt"


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("a\0b", "NUL"),
        ("~", "not expanded"),
        ("~/.ssh/id_rsa", "not expanded"),
        ("x" * 256, "too long"),
        ("ä" * 128, "too long"),
        ("/".join(["x" * 200] * 30), "too long"),
        ("a/" * 1_000_000, "too long"),
        ("a/../" * 1_000_000, "too long"),
        ("half\ud800", "not allowed in file names"),
    ],
)
def test_text_that_can_be_no_path_is_a_clear_error(tmp_path: Path, path: str, problem: str) -> None:
    with pytest.raises(ToolError, match=problem) as refusal:
        Folders.of([tmp_path]).resolve(path)

    str(refusal.value).encode()
    assert len(str(refusal.value)) < 10_000


@given(path=st.text(max_size=60))
def test_no_text_leads_out_or_breaks_anything(tree: Path, path: str) -> None:
    try:
        found = Folders.of([tree / "ws"]).resolve(path)
    except ToolError as refusal:
        str(refusal).encode()
    else:
        assert found.is_relative_to(tree / "ws")


def test_without_a_folder_every_path_says_so() -> None:
    for path in ("x.py", "/etc/passwd", "."):
        with pytest.raises(ToolError, match="No folder is open"):
            Folders.of([]).resolve(path)


def test_a_path_is_checked_again_against_links_that_came_later(tmp_path: Path) -> None:
    (tmp_path / "ws" / "src").mkdir(parents=True)
    folders = Folders.of([tmp_path / "ws"])
    path = folders.resolve("src/new.py")
    (tmp_path / "ws" / "src").rmdir()
    (tmp_path / "ws" / "src").symlink_to(tmp_path)

    with pytest.raises(OutsideWorkspaceError):
        folders.check(path)

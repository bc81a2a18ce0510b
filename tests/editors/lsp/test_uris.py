"""URIs and paths: what is a file, and how the editor spells it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pygent_ls.editors.lsp.uris import FileUris, path_of


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///no/such/a.py", "/no/such/a.py"),
        ("file:///no/a%20b%23c.py", "/no/a b#c.py"),
        ("file:///no/a+b.py", "/no/a+b.py"),
        ("FILE:///no/a.py", "/no/a.py"),
        ("file:///no/%C3%A9.py", "/no/é.py"),
        ("file:///no/é.py", "/no/é.py"),
        ("file://localhost/no/a.py", "/no/a.py"),
        ("file:///no/../such/./a.py", "/such/a.py"),
        ("file:///", "/"),
    ],
)
def test_a_file_uri_is_a_path(uri: str, path: str) -> None:
    assert path_of(uri) == Path(path)


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "/a.py",
        "a.py",
        "untitled:a",
        "http://x/a.py",
        "file:",
        "file://",
        "file://[/a",
        "file:///a%00b",
        "git:/a",
        "file:a.py",
        "file:../a.py",
        "file:///" + "a/" * 3_000,
        "file:///" + "a" * 5_000,
        "file:///\ud800",
    ],
)
def test_anything_else_is_none(uri: str) -> None:
    assert path_of(uri) is None


def test_a_name_that_is_not_utf_8_leads_back_to_its_file(folder: Path) -> None:
    file = folder / "caf\udce9.txt"
    file.write_text("x")

    assert file.as_uri().endswith("/caf%E9.txt")
    assert path_of(file.as_uri()) == file
    assert path_of(file.as_uri(), follow=False) == file


def test_links_are_followed(folder: Path) -> None:
    (folder / "link").symlink_to(folder / "real.txt")

    assert path_of((folder / "link").as_uri()) == folder / "real.txt"


def test_paths_below_a_folder_are_spelled_as_the_editor_spells_it(folder: Path) -> None:
    link = folder.parent / "a link"
    link.symlink_to(folder)
    uris = FileUris()

    assert uris.set_folders([link.as_uri() + "/"]) == [folder]

    assert uris.uri_of(folder / "in/a b.py") == f"{link.as_uri()}/in/a%20b.py"
    assert uris.uri_of(folder) == link.as_uri()
    assert uris.uri_of(folder.parent) == folder.parent.as_uri()


def test_folders_that_are_no_files_are_left_out(folder: Path) -> None:
    uris = FileUris()

    assert uris.set_folders(["vscode-remote://x/y", folder.as_uri(), "", folder.as_uri()]) == [folder]
    assert uris.folders == [folder]


def test_the_root_folder_may_be_a_workspace() -> None:
    uris = FileUris()
    uris.set_folders(["file:///"])

    assert uris.uri_of(Path("/etc/hosts")) == "file:///etc/hosts"


def test_a_path_has_one_uri_and_comes_back_from_it(folder: Path) -> None:
    uris = FileUris()
    uris.set_folders([folder.as_uri()])

    for name in ("a.py", "a b.py", "é.py", "a#b?c.py", "100%.py", "日本.py", "c:d.py"):
        assert path_of(uris.uri_of(folder / name)) == folder / name

"""Edits of files whose text the server was never told: they are made only of what they were computed from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pygent_ls.agent.ports.language_features import Feature
from pygent_ls.agent.ports.workspace import Document, WriteText
from pygent_ls.errors import StaleDocumentError, ToolError
from pygent_ls.extensions.language_servers.features import LspFeatures
from pygent_ls.extensions.language_servers.peers import Base, RawAnswer, RawProblems
from pygent_ls.extensions.language_servers.text_positions import Encoding, path_of_uri
from pygent_ls.workspace.files.disk_workspace import DiskWorkspace

USES = "from a import old\nold()\n"


def edit(line: int, start: int, end: int, new: str = "new") -> dict[str, Any]:
    ends = ({"line": line, "character": each} for each in (start, end))
    return {"range": dict(zip(("start", "end"), ends, strict=True)), "newText": new}


class ClosedFiles:
    """A client whose servers know closed files as they were. Implements `LanguagePeer` and `LanguageSource`."""

    encoding: Encoding = "utf-16"
    holds_texts = False
    offered: Sequence[Feature] = ("rename", "code_actions")

    def __init__(self, changes: Mapping[Path, list[dict[str, Any]]], open_ones: Sequence[Document] = ()) -> None:
        self.edit = {"changes": {path.as_uri(): edits for path, edits in changes.items()}}
        self.bases = {each.path: Base(0, each.digest) for each in open_ones}

    def prepare(self, paths: Sequence[Path]) -> None:
        pass

    async def peers(self, path: Path | None) -> Sequence[ClosedFiles]:
        return [self]

    def has(self, feature: Feature) -> bool:
        return feature in self.offered

    def uri_of(self, path: Path) -> str:
        return path.as_uri()

    def path_of(self, uri: str) -> Path | None:
        return path_of_uri(uri)

    async def learn(self, document: Document) -> None:
        pass

    async def ask(self, feature: Feature, params: Mapping[str, Any]) -> RawAnswer:
        value = self.edit if feature == "rename" else [{"title": "Fix", "edit": self.edit}]
        return RawAnswer(value=value, encoding="utf-16", bases=self.bases)

    async def resolve(self, action: Mapping[str, Any], params: Mapping[str, Any]) -> RawAnswer:
        return RawAnswer(value=action, encoding="utf-16", bases=self.bases)

    async def problems(self, document: Document, wait_s: float) -> RawProblems | None:
        return None

    async def format(self, path: Path, text: str, *, on_save_only: bool) -> str | None:
        return None


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path.resolve()
    (folder / "a.py").write_text("def old():\n    pass\n")
    (folder / "b.py").write_text(USES)
    return folder


async def renamed(folder: Path, uses: list[dict[str, Any]]) -> dict[str, str]:
    workspace = DiskWorkspace([folder])
    client = ClosedFiles({folder / "a.py": [edit(0, 4, 7)], folder / "b.py": uses})
    plan = await LspFeatures([client], workspace).rename(await workspace.read(folder / "a.py"), 1, 4, "new")
    assert plan is not None
    return {each.path.name: each.text for each in plan.operations if isinstance(each, WriteText)}


async def test_a_closed_file_that_holds_the_name_in_all_places_is_renamed_in(folder: Path) -> None:
    assert await renamed(folder, [edit(0, 14, 17), edit(1, 0, 3)]) == {
        "a.py": "def new():\n    pass\n",
        "b.py": "from a import new\nnew()\n",
    }


async def test_text_is_inserted_beside_the_name_of_a_closed_file(folder: Path) -> None:
    texts = await renamed(folder, [edit(1, 0, 0, "new: ")])
    assert texts["b.py"] == "from a import old\nnew: old()\n"


@pytest.mark.parametrize("uses", [[edit(0, 14, 17), edit(1, 0, 3)], [edit(1, 0, 0, "new: ")]])
@pytest.mark.parametrize(
    "now",
    ["KEEP = something(4)\n" + USES, "from a import old\nolder()\n", "from a import older\nx_old()\n", "old\n", ""],
)
async def test_a_closed_file_that_has_changed_unnoticed_is_not_renamed_in(
    folder: Path, now: str, uses: list[dict[str, Any]]
) -> None:
    (folder / "b.py").write_text(now)
    with pytest.raises(StaleDocumentError, match=r"edit does not fit what b\.py holds now.*Nothing was changed"):
        await renamed(folder, uses)


async def test_a_code_action_edits_no_closed_file(folder: Path) -> None:
    workspace = DiskWorkspace([folder])
    document = await workspace.read(folder / "a.py")
    client = ClosedFiles({folder / "a.py": [edit(0, 4, 7)]}, [document])
    features = LspFeatures([client], workspace)
    [action] = await features.code_actions(document, 1, 1)
    assert (await features.plan_action(action)).operations

    client.bases = {}
    [action] = await features.code_actions(document, 1, 1)
    with pytest.raises(ToolError, match=r"edits a\.py, which is not open.*Nothing was changed"):
        await features.plan_action(action)


async def test_a_name_with_other_characters_is_that_of_the_edit_of_the_open_document(folder: Path) -> None:
    (folder / "a.css").write_text("--main-color: red;\n")
    (folder / "b.css").write_text("a { color: var(--main-color) }\n")
    workspace = DiskWorkspace([folder])
    document = await workspace.read(folder / "a.css")
    changes = {folder / "a.css": [edit(0, 0, 12)], folder / "b.css": [edit(0, 15, 27)]}
    plan = await LspFeatures([ClosedFiles(changes, [document])], workspace).rename(document, 1, 2, "--x")
    assert plan is not None
    assert len(plan.operations) == 2

"""Skills in the folders of a user and of a workspace."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.errors import ToolError
from pygent_ls.extensions.skills import MAX_FILE_BYTES, SkillFolders, skill_folders


def put(folder: Path, name: str, text: str, file: str = "SKILL.md") -> Path:
    """A file of a skill."""
    path = folder / "skills" / name / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def described(what: str, rest: str = "Do it well.") -> str:
    """A skill's main file."""
    return f"---\nname: any\ndescription: {what}\n---\n{rest}\n"


@pytest.fixture
def users(tmp_path: Path) -> Path:
    """The user's settings folder."""
    return tmp_path / "user"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace folder."""
    return tmp_path / "project"


@pytest.fixture
def skills(users: Path, workspace: Path) -> SkillFolders:
    """The skills of both."""
    return SkillFolders(lambda: skill_folders(users, [workspace], is_restricted=False))


async def test_they_are_found_in_each_place_and_the_users_come_first(
    users: Path, workspace: Path, skills: SkillFolders
) -> None:
    put(users, "notes", described("The user's"))
    for place, name in ((".pygent", "notes"), (".pygent", "tests"), (".claude", "tests"), (".agents", "release")):
        put(workspace / place, name, described(f"In {place}"))

    found = await skills.all()

    assert [(each.name, each.description, each.source) for each in found] == [
        ("notes", "The user's", "user"),
        ("release", "In .agents", "workspace"),
        ("tests", "In .pygent", "workspace"),
    ]


async def test_in_a_restricted_workspace_there_are_the_users_alone(users: Path, workspace: Path) -> None:
    put(users, "notes", described("The user's"))
    put(workspace / ".claude", "tests", described("The workspace's"))
    restricted = SkillFolders(lambda: skill_folders(users, [workspace], is_restricted=True))

    assert [each.name for each in await restricted.all()] == ["notes"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("no front matter", "its front matter has no `description`"),
        ("---\nname: a\n---\ntext", "its front matter has no `description`"),
        ("---\ndescription: [a\n---\ntext", "its front matter is not YAML"),
        ("---\ndescription: a\n", "its front matter does not end: the second line `---` is missing"),
        ("---\ndescription: [a, b]\n---\n", "`description` in its front matter is not a string"),
        ("x" * (MAX_FILE_BYTES + 1), "it is longer than 200,000 bytes"),
    ],
)
async def test_one_that_cannot_be_used_says_why_and_is_not_read(
    text: str, problem: str, users: Path, skills: SkillFolders
) -> None:
    put(users, "broken", text)
    put(users, "fine", described("Fine"))

    assert [each.problem for each in await skills.all()] == [problem, ""]
    with pytest.raises(ToolError, match=r"There is no skill 'broken'. The skills are: fine\."):
        await skills.read("broken", "SKILL.md")


async def test_its_other_files_are_read_by_their_paths(users: Path, skills: SkillFolders) -> None:
    put(users, "notes", described("Notes"))
    put(users, "notes", "print(1)\n", "scripts/run.py")

    skill, text = await skills.read("notes", "scripts/run.py")

    assert (skill.folder, text) == (users / "skills" / "notes", "print(1)\n")
    with pytest.raises(ToolError, match=r"Its files are: SKILL\.md, scripts/run\.py\."):
        await skills.read("notes", "scripts/none.py")


async def test_a_link_in_a_workspace_leads_nowhere_and_the_users_own_links_count(
    tmp_path: Path, users: Path, workspace: Path, skills: SkillFolders
) -> None:
    secret = tmp_path / "secret"
    secret.write_text(described("A secret"))
    linked = put(workspace / ".claude", "linked", described("Fine"))
    linked.unlink()
    linked.symlink_to(secret)
    put(workspace / ".claude", "other", described("Fine")).with_name("data").symlink_to(secret)
    (users / "skills").mkdir(parents=True)
    (users / "skills" / "mine").symlink_to(put(tmp_path / "dotfiles", "mine", described("Mine")).parent)

    found = {each.name: each.problem for each in await skills.all()}

    assert found == {
        "linked": "it is a link or lies behind one, which is not allowed in a workspace",
        "other": "",
        "mine": "",
    }
    with pytest.raises(ToolError, match="is a link or lies behind one"):
        await skills.read("other", "data")


@given(st.text(st.sampled_from("./a\\~\0é"), max_size=12) | st.just("/etc/passwd") | st.just("a/../../../secret"))
def test_no_path_leads_out_of_the_folder(tmp_path_factory: pytest.TempPathFactory, file: str) -> None:
    import asyncio

    base = tmp_path_factory.mktemp("skills")
    (base / "secret").write_text("secret")
    put(base / "user", "notes", described("Notes"))
    put(base / "user", "notes", "inside", "a")
    skills = SkillFolders(lambda: skill_folders(base / "user", [], is_restricted=False))

    try:
        _, text = asyncio.run(skills.read("notes", file))
    except ToolError:
        return
    assert text == "inside"

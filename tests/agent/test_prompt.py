"""The system prompt."""

from __future__ import annotations

from pygent_ls.agent.prompt import GUIDANCE, PLAN_MODE, ROLE, WorkspaceFacts, system_prompt

FACTS = WorkspaceFacts(platform="Linux", date="2026-01-02", folders=["/w", "/v"])


def test_the_prompt_says_who_it_is_how_to_work_and_where() -> None:
    prompt = system_prompt(FACTS, mode="default", added="")
    assert prompt.startswith(ROLE)
    assert GUIDANCE in prompt
    assert "Platform: Linux\nDate: 2026-01-02\nFolders:\n- /w\n- /v" in prompt


def test_parts_that_are_empty_have_no_heading() -> None:
    prompt = system_prompt(FACTS, mode="default", added=" \n")
    assert "# Mode" not in prompt
    assert "instructions\n" not in prompt
    assert PLAN_MODE not in prompt


def test_plan_mode_and_the_users_own_words_are_parts_of_their_own() -> None:
    prompt = system_prompt(FACTS, mode="plan", added="Always use tabs.")
    assert f"# Mode\n{PLAN_MODE}" in prompt
    assert prompt.endswith("# The user's own instructions\nAlways use tabs.")


def test_without_a_folder_the_model_is_told_that_there_are_no_files() -> None:
    assert "- none" in system_prompt(WorkspaceFacts(platform="x", date="y", folders=[]), mode="default", added="")

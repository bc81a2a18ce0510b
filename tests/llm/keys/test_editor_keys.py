"""Keys that an editor gives to the daemon while it runs."""

from __future__ import annotations

from pygent_ls.llm.keys.editor_keys import EditorKeys


def test_a_key_goes_before_the_environments_own_which_comes_back_with_its_removal() -> None:
    environment = {"MISTRAL_API_KEY": "of-the-shell", "PATH": "/bin"}
    keys = EditorKeys(environment)

    keys.change({"MISTRAL_API_KEY": "of-the-editor", "GROQ_API_KEY": "another-key"})
    keys.change({"MISTRAL_API_KEY": "a-newer-one"})

    assert environment == {"MISTRAL_API_KEY": "a-newer-one", "GROQ_API_KEY": "another-key", "PATH": "/bin"}
    assert keys.variables == {"MISTRAL_API_KEY", "GROQ_API_KEY"}
    assert sorted(keys.known) == ["a-newer-one", "another-key"]

    keys.change({"MISTRAL_API_KEY": None, "GROQ_API_KEY": None, "PATH": None})

    assert environment == {"MISTRAL_API_KEY": "of-the-shell", "PATH": "/bin"}
    assert (keys.variables, keys.known) == (frozenset(), ())


def test_other_keys_are_another_version() -> None:
    keys = EditorKeys({})
    before = keys.version

    keys.change({"MISTRAL_API_KEY": "of-the-editor"})

    assert keys.version != before


def test_what_may_be_an_ordinary_word_is_not_masked() -> None:
    keys = EditorKeys({})

    keys.change({"MISTRAL_API_KEY": "test"})

    assert keys.known == ()

"""YAML and TOML from outside take bounded time, and are read as their parsers read them."""

from __future__ import annotations

import tomllib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.data_files import MAX_FLOW_NESTING, MAX_KEY_PARTS, read_toml, read_yaml
from tests.house.growth import grows_too_fast
from tests.house.patterns import repeating

PARTS = ("a", '"a"', "'a'", '"a b"', '"="', r'"\u0041"', "1", "-", " a ", '"\\""')


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("line", ["{} = 1", "[{}]", "[[{}]]", "x = {{ {} = 1 }}", "x = [{{ {} = 1 }}]"])
def test_a_key_of_too_many_parts_is_refused_before_it_is_read(line: str, part: str) -> None:
    few, many = (".".join([part] * n) for n in (MAX_KEY_PARTS - 1, 20_000))

    with suppress(tomllib.TOMLDecodeError):  # `-` and `1` begin no value, but are keys
        read_toml(line.format(few))
    with pytest.raises(ValueError, match="a key has more than 100 parts"):
        read_toml(line.format(many))


@pytest.mark.parametrize(
    "fragment", ["a.", '"a".', "a=1\n", "[a.b]\n", "'", '"', '"""', "'''", "#", ".", "{a=", "[", "\\"]
)
def test_ten_times_the_toml_takes_about_ten_times_as_long(fragment: str) -> None:
    def run(text: str) -> None:
        with suppress(ValueError, RecursionError):
            read_toml(text)

    for before in ("", "a.", 'a = """', "x = "):
        assert not grows_too_fast(run, repeating(before, fragment, ""), length=10_000, times=10, floor_s=0.05)


@pytest.mark.parametrize("opened", ["[", "{", "[{", "{a: "])
def test_brackets_of_yaml_that_are_nested_too_deep_are_refused_at_once(opened: str) -> None:
    with pytest.raises(ValueError, match="its brackets are nested deeper than 100"):
        read_yaml(f"a: {opened * 50_000}")


def test_brackets_of_yaml_may_be_nested() -> None:
    depth = MAX_FLOW_NESTING

    (found,) = read_yaml("[" * depth + "]" * depth)

    assert str(found) == "[" * depth + "]" * depth


@pytest.mark.parametrize(
    "value", ["!!bool maybe", "!!int ''", "!!float ''", "!!timestamp soon", "!!int 0x", "2026-13-45", "!!binary é"]
)
def test_a_value_of_yaml_that_is_not_what_its_tag_says_is_invalid(value: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_yaml(f"a: {value}")


def test_long_sentences_and_lists_on_one_line_are_no_keys() -> None:
    text = f'system_prompt = "{"Do this. Not that. " * 200}"\nallow = [{", ".join(f"{n}.5" for n in range(300))}]\n'

    assert read_toml(f"{text}# {'a.' * 200}\n") == tomllib.loads(text)


@given(st.text(alphabet="ab1.=\"'[]{}#,\n \\-", max_size=300))
def test_whatever_is_read_is_what_the_parser_says(text: str) -> None:
    try:
        expected: object = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        expected = None
    try:
        found: object = read_toml(text)
    except tomllib.TOMLDecodeError:
        found = None
    except ValueError:
        return  # a key of too many parts
    assert found == expected

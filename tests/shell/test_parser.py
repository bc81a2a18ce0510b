"""How a command line is taken apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.shell.parser import MAX_CHARS, read_line
from pygent_ls.shell.words import ANY, HOME


def programs(text: str) -> list[str]:
    return [command.name for command in read_line(text).all()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a; b && c || d | e & f", ["a", "b", "c", "d", "e", "f"]),
        ("a $(b `c`)", ["c", "b", "a"]),
        ("a <(b) >(c)", ["b", "c", "a"]),
        ("sudo -u x env A=1 nice -n 5 b", ["sudo", "env", "nice", "b"]),
        ("bash -c 'a; b'", ["bash", "a", "b"]),
        ("find . -exec a {} \\; -exec b {} +", ["find", "a", "b"]),
        ("if a; then b; else c; fi", ["a", "b", "c"]),
        ("f() { a; }", ["a"]),
    ],
)
def test_every_program_of_a_line_is_found(text: str, expected: list[str]) -> None:
    assert programs(text) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a 'b c' \"d e\" f\\ g", ("a", "b c", "d e", "f g")),
        ('a "$x" *.py ~ ~/b $HOME', ("a", ANY, f"{ANY}.py", HOME, f"{HOME}/b", HOME)),
        ("a '~' \"*\" \\*", ("a", "~", "*", "*")),
        ("a\"b\"'c'", ("abc",)),
        ("$'a\\tb\\x41\\102\\u0043'", ("a\tbABC",)),
        ('a "b  $x  c"', ("a", f"b  {ANY}  c")),
    ],
)
def test_words_are_read_as_bash_reads_them(text: str, words: tuple[str, ...]) -> None:
    assert read_line(text).commands[-1].words == words


def test_words_in_any_script_stay_what_they_are() -> None:
    line = read_line("echo äöü '日本' \"\U0001f600 é\" > ñ; bash -c 'ls ж'")
    assert line.commands[0].words == ("echo", "äöü", "日本", "\U0001f600 é")
    assert [write.path for write in line.writes] == ["ñ"]
    assert list(line.all())[-1].words == ("ls", "ж")


@pytest.mark.parametrize("text", ["{\U000e187c3^||*&{{", "0${\U0010d2aa'0\t\U000b6679]#\U0001f259>]]!$|]"])
def test_a_text_that_ends_the_grammars_own_code_is_judged_like_any_other(text: str) -> None:
    assert not read_line(text).is_parsed


def test_where_a_command_runs_is_followed() -> None:
    line = read_line("a; cd b && c; (cd d; e); cd ../f; g; cd $X; h")
    folders = {command.name: command.folder for command in line.commands if command.name != "cd"}
    assert folders == {"a": "", "c": "b", "e": "b/d", "g": "b/../f", "h": f"b/../f/{ANY}"}


def test_a_redirection_into_a_file_is_told_and_one_into_nothing_is_not() -> None:
    assert [write.path for write in read_line("a > b 2>> c &> /dev/null 2>&1 < d").writes] == ["b", "c"]
    assert read_line("a 2>&1 >/dev/null").plain
    assert not read_line("a > b").plain


def test_what_is_too_long_or_too_deep_counts_as_not_parsed() -> None:
    assert not read_line("echo " + "a" * MAX_CHARS).is_parsed
    assert not read_line("sudo " * 40 + "a").is_parsed
    assert not read_line("(" * 2_000 + "a" + ")" * 2_000).is_parsed


@given(st.text(max_size=40))
def test_no_text_is_too_odd_to_be_judged(text: str) -> None:
    line = read_line(text)
    assert line.is_parsed or not line.plain


@pytest.mark.parametrize(
    "text",
    [
        "git status \\ #; touch X",
        "git status\n\\touch X",
        "echo x >$\nrm -rf /",
        "[ a || rm -rf / ]",
        "[ a && rm -rf / ]",
        "[ a\nrm -rf / ]",
        "0<<<a touch X",
        "! ! touch X",
        '>/dev/null"$X"\\; touch X',
    ],
)
def test_what_the_grammar_of_the_tree_reads_otherwise_than_bash_counts_as_not_parsed(text: str) -> None:
    assert not read_line(text).is_parsed
    assert not read_line(f"bash -c '{text}'").is_parsed


@pytest.mark.parametrize(
    "text",
    [
        "for i in 1 2; do\n echo $i\ndone",
        "if [ -f a ] && [[ -f b || -f c ]]; then echo 'x y' \"z\"; fi # c",
        "cat <<'EOF' > x\nhi\n there\nEOF\necho done",
        "python - <<EOF\nprint(1)\nEOF",
        "x=$((1 + 2)); echo ${x:-a b} `ls` $(ls | wc)",
        'while read -r l; do echo "$l"; done < f',
        "git commit -m \"$(cat <<'EOF'\nfix: a\n\nb (c)\nEOF\n)\"",
        "function f { ls; }\nf",
        "case x in\n a|b) ls\n;; esac",
        "a=(1 2\n 3)",
        "a && \\\n b",
        "time ls",
    ],
)
def test_ordinary_scripts_are_parsed(text: str) -> None:
    assert read_line(text).is_parsed


def test_a_dash_before_a_here_document_is_a_word() -> None:
    assert read_line("python - <<EOF\nprint(1)\nEOF").commands[0].words == ("python", "-")

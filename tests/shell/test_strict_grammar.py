"""The strict grammar: what it accepts, and that it rejects all else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.shell.strict_grammar import read_strictly
from pygent_ls.shell.words import ANY, HOME


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("", ()),
        ("a b", (("a", "b"),)),
        ("a && b || c | d ; e & f\ng", (("a",), ("b",), ("c",), ("d",), ("e",), ("f",), ("g",))),
        ("a &&\n\n b |\n c;\n", (("a",), ("b",), ("c",))),
        ("# one\na # two\n#three", (("a",),)),
        ('a \'b c\' "d e" f\\ g ""', (("a", "b c", "d e", "f g", ""),)),
        ("a \\; '; b' \"| c\" d#e", (("a", ";", "; b", "| c", "d#e"),)),
        ('a "\\$x \\" \\\\ \\z" "$" b$', (("a", '$x " \\ \\z', "$", "b$"),)),
        ('a "$x ${y}" $? $HOME/b ~/c ~', (("a", f"{ANY} {ANY}", ANY, f"{HOME}/b", f"{HOME}/c", HOME),)),
        ("a *.py b?[cd] ", (("a", f"{ANY}.py", f"b{ANY}{ANY}cd]"),)),
        ("[ -f a ]", (("[", "-f", "a", "]"),)),
        ("a HEAD@{1} {} b={c}", (("a", "HEAD@{1}", "{}", "b={c}"),)),
        ("a 2>&1 >/dev/null 2>> /dev/null &>/dev/null | b", (("a",), ("b",))),
        ("a äöü '日本'", (("a", "äöü", "日本"),)),
    ],
)
def test_words_and_commands_are_read_as_bash_reads_them(text: str, commands: tuple[tuple[str, ...], ...]) -> None:
    line = read_strictly(text)
    assert line is not None
    assert line.commands == commands


def test_files_that_input_comes_from_are_told() -> None:
    line = read_strictly("a < b; c | d < 'e f'")
    assert line is not None
    assert line.reads == ((0, "b"), (2, "e f"))


@pytest.mark.parametrize(
    "text",
    [
        *("a $(b)", "a `b`", 'a "$(b)"', 'a "`b`"', "a <(b)", "a >(b)", "(a)", "{ a; }", "! a", "time a", "coproc a"),
        *("if a; then b; fi", "for x in a; do b; done", "while a; do b; done", "case a in b) c;; esac", "[[ -f a ]]"),
        *(
            "f() { a; }",
            "function f { a; }",
            "((a))",
            "a $((1))",
            "a $[1]",
            "a=b",
            "a=b c",
            "a+=b",
            "a[0]=b",
            "select x",
        ),
        *("a > b", "a >> b", "a >| b", "a &> b", "a >& b", "a <> b", "a 2> b", "> /dev/null", "a >", "a <", "a < $x"),
        *("a << b\nb", "a <<- b\nb", "a <<< b", "a < /dev/tcp/b/1", "{x}>/dev/null a", "a<b", "a 3<&0", "a 2>&1x"),
        *("a $x", "a b$x", "a ${x}", "a ${x:-b}", "a ${!x}", "a ${x@P}", 'a "${x:-b}"', "a $'b'", 'a $"b"', "a $1 $@"),
        *(
            "a {b,c}",
            "a {1..3}",
            "a {b,'c'}",
            "a \\\n b",
            "'a\\\nb",
            "a |& b",
            "a ;; b",
            "; a",
            "& a",
            "a & ; b",
            "a &&",
        ),
        *(
            "a | ",
            "a && | b",
            "a 'b",
            'a "b',
            "a b\\",
            "a ~b",
            "a ~+",
            "%1",
            "a\rb",
            "a\u00a0b",
            "a \u200b",
            "a \x00",
            "a\x0bb",
        ),
        *("a >$\nb", 'a "$\nb"', "a $\nb", "a àb", "a \\à", "a +(b)", "a @(b|c)"),
    ],
)
def test_whatever_is_no_part_of_the_grammar_rejects_the_whole_text(text: str) -> None:
    assert read_strictly(text) is None
    assert read_strictly("a; " + text) is None
    assert read_strictly(text + "\na") is None or text in ("", "a &&", "a | ")


WORDS = st.lists(st.sampled_from(["a", "'b'", '"c"', "\\;", "d*", "~/e", "2>&1", "#", "\n"]), max_size=3).map(" ".join)


@given(
    before=WORDS.filter(lambda words: "#" not in words),
    text=st.sampled_from(
        ["\\\n", "$\n", "$(x)", "`x`", "{x,y}", "{1..2}", "${x}", "$'x'", "$((1))", "<(x)", ">x", "<<<x", "(x)", "|& x"]
    ),
    glue=st.sampled_from(["", " ", "a"]),
    behind=WORDS,
)
def test_what_is_not_accepted_is_not_accepted_amid_anything_else(
    before: str, text: str, glue: str, behind: str
) -> None:
    assert read_strictly(f"a {before}{glue}{text}{behind}") is None


@given(st.text(max_size=60))
def test_any_text_is_read_or_rejected(text: str) -> None:
    read_strictly(text)

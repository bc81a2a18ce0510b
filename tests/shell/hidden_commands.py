"""Random command lines in which `touch z` is hidden: spelled otherwise, wrapped, set by variables, and damaged."""

from __future__ import annotations

import shlex
from collections.abc import Callable

from hypothesis import strategies as st

WORDS = (
    *(
        "touch",
        "touch",
        "touch",
        'to""uch',
        "\\touch",
        "'touch'",
        "to\\\nuch",
        "{touch,z}",
        "$'\\x74ouch'",
        "$'\\564ouch'",
    ),
    *(
        "$'\\x{74}ouch'",
        "$'touch\\0x'",
        "$X touch",
        "$v",
        "${v}",
        '"$v"',
        "${v:-x}",
        "${w#q}",
        "${u}ch",
        "${v,,}",
        "${!n}",
    ),
    *("$(echo touch)", "`echo touch`", "$(printf %s touch)", "$(printf to%s uch)", "$(echo -e 'to\\x75ch')", "${a[@]}"),
    *("$(echo touch>&1)", "$(type -P touch)", "$(cat <<<touch)", "$i", "$p", "$a", "${a[0]}", "$1", "$@", "$_"),
)
"""Ways to say `touch`, some of them with the settings below."""

SETTINGS = (
    *("v=touch", "v=touch", "v=echo", "v=", "w=qtouch", "u=tou", "u+=ch", "p=to; p+=uch", "n=v", "i=echo", "a=(touch)"),
    *(
        "a[0]=touch",
        "a=echo",
        "set -- touch",
        "set -- echo",
        "false && v=echo",
        "(v=echo)",
        "v=echo true",
        "v=echo | cat",
    ),
    *(
        "v=echo &",
        "f() { v=echo; }",
        "unset v",
        "read v <<< touch",
        "read v <<< echo",
        "printf -v v touch",
        "v=echo || :",
    ),
    *("for i in echo touch; do :; done", "if false; then v=echo; fi", "while false; do v=echo; done", "true || v=echo"),
    *(
        "IFS=q",
        "v=touchqz",
        "declare v=touch",
        "declare -n n=v",
        ": ${v:=touch}",
        "eval v=touch",
        "$(v=echo)",
        ": touch",
    ),
    *(
        "{ v=touch; }",
        "mapfile -t a <<< touch",
        "echo() { printf touch; }",
        "shopt -s expand_aliases",
        "alias x='touch z'",
    ),
    *(
        "alias y=\"echo '\"\ny ' ; touch z '",
        "x",
        "BASH_ALIASES[x]='touch z'",
        "hash -p touch echo",
        "echo hi",
        "git status",
    ),
    *(
        "x='a[$'",
        "x+='(touch z)]'",
        "echo $((x))",
        "set -- 'a[$(touch z)]'",
        "echo $(($1))",
        "read x <<< 'a[$(touch z)]'",
    ),
    *("[[ x -eq 0 ]]", "for x in 'a[$(touch z)]'; do :; done", "history -s touch z", "fc -s", "set -o history", "! ls"),
    *(
        "set -o history -o histexpand",
        "!!",
        "set -k",
        "set -o posix",
        "shopt -s extglob",
        "set -f",
        "set -x",
        "PS4=\\$",
    ),
)
"""What may stand before or behind it."""

AROUND = (
    *("eval QUOTED", "bash -c QUOTED", "echo $(RAW)", 'echo "$(RAW)"', "echo `RAW`", 'echo "`RAW`"', "cat <(RAW)"),
    *(": ${x:-$(RAW)}", "y=$(RAW)", "b[$(RAW)]=1", 'echo "${v/$(RAW)/}"', "echo ${v#$(RAW)}", "echo ${v:$(RAW)}"),
    *("echo ${v^^$(RAW)}", 'echo "${v%`RAW`}"', "trap QUOTED EXIT", "if RAW\nthen :; fi", "if :; then RAW\nfi"),
    *(
        "if false; then :; else RAW\nfi",
        "case x in x) RAW\n;; esac",
        "case $(RAW) in *) ;; esac",
        "{ RAW\n}",
        "(RAW\n)",
    ),
    *(
        "case x in $(RAW)) ;; esac",
        "! { RAW\n}",
        "time { RAW\n}",
        "f() { RAW\n}; f",
        "function f { RAW\n}\nf",
        "f() (RAW); f",
    ),
    *(
        "[[ $(RAW) ]]",
        "[[ -v INDEX ]]",
        "[[ INDEX -eq 0 ]]",
        "(( c[$(RAW)] ))",
        "(( INDEX ))",
        "let INDEX",
        "test -v INDEX",
    ),
    *(
        "echo $(( c[$(RAW)] ))",
        "echo $[ c[$(RAW)] ]",
        "unset INDEX",
        "read INDEX <<< x",
        "declare INDEX=1",
        "printf -v INDEX x",
    ),
    *("cat <<E\n$(RAW)\nE", "cat <<E\n`RAW`\nE", "cat <<-E\n\t$(RAW)\n\tE", "bash <<E\nRAW\nE", "bash <<'E'\nRAW\nE"),
    *(
        "bash <<\\E\nRAW\nE",
        "cat <<'E' | bash\nRAW\nE",
        "bash <<< QUOTED",
        ". <(echo QUOTED)",
        "source /dev/stdin <<< QUOTED",
    ),
    *(
        "echo QUOTED | bash",
        "printf %s QUOTED | bash",
        "printf '%s\\n' QUOTED | bash -s",
        "bash < <(echo QUOTED)",
        ": | RAW",
    ),
    *("echo QUOTED | cat | bash", "coproc { RAW\n}", "coproc N { RAW\n}", "builtin eval QUOTED", "command eval QUOTED"),
    *(
        "while RAW\ndo break; done",
        "while :; do RAW\nbreak; done",
        "until RAW\ndo break; done",
        "for i in 1; do RAW\ndone",
    ),
    *("for i in $(RAW); do :; done", "for ((i=0;i<1;i++)); do RAW\ndone", "for ((i=c[$(RAW)];i<0;i++)); do :; done"),
    *(
        "select i in 1; do RAW\ndone <<< 1",
        "true && RAW",
        "false || RAW",
        "echo > $(RAW)",
        "echo <<< $(RAW)",
        "echo > >(RAW)",
    ),
    *(
        "x=SUBSTITUTED; echo ${x@P}",
        "PS4=SUBSTITUTED; set -x; :",
        "env PS4=SUBSTITUTED bash -xc :",
        "compgen -W SUBSTITUTED",
    ),
    *("mapfile -C QUOTED -c 1 c <<< x", "mapfile -tc1 -C QUOTED c <<< x", "f() { :; } <<< $(RAW)\nf"),
)
"""Contexts that run a command: `RAW`, quoted as a text, in the index of a name, or as a quoted substitution."""

BEFORE = (
    *(
        "",
        "",
        "",
        "",
        "X=1 ",
        "! ",
        "time ",
        "time -p ",
        "exec ",
        "command ",
        "builtin command ",
        "env ",
        "coproc ",
        "\\\n",
    ),
    *("2>&1 ", ">/dev/null ", "nohup ", "<<<x ", "</dev/null ", "X=$(echo) "),
)
BEHIND = ("", "", "", " 2>&1", " &", " >/dev/null", " #x", " | cat", " \\#")
BETWEEN = ("; ", "; ", "\n", "\n", " && ", " || ", " & ", " | ")


def in_double_quotes(text: str) -> str:
    for each in '\\"$`':
        text = text.replace(each, "\\" + each)
    return f'"{text}"'


QUOTES: tuple[Callable[[str], str], ...] = (shlex.quote, shlex.quote, in_double_quotes)


def wrapped(template: str, line: str, quote: Callable[[str], str]) -> str:
    """The line in one of the contexts above."""
    for name, text in (("QUOTED", line), ("INDEX", f"c[$({line})]"), ("SUBSTITUTED", f"$({line})")):
        template = template.replace(name, quote(text))
    return template.replace("RAW", line)


@st.composite
def hidden_commands(draw: st.DrawFn, tokens: list[str]) -> str:
    """A line; one in three is damaged in one or two places by any of the tokens."""
    line = draw(st.sampled_from(BEFORE)) + draw(st.sampled_from(WORDS)) + " z" + draw(st.sampled_from(BEHIND))
    for template in draw(st.lists(st.sampled_from(AROUND), max_size=3)):
        line = wrapped(template, line, draw(st.sampled_from(QUOTES)))
    for setting in draw(st.lists(st.sampled_from(SETTINGS), max_size=3)):
        line = setting + draw(st.sampled_from(BETWEEN)) + line
    if draw(st.integers(0, 2)) == 2:
        for token in draw(st.lists(st.sampled_from(["", *tokens]), min_size=1, max_size=2)):
            at = draw(st.integers(0, len(line)))
            line = line[:at] + token + line[at + draw(st.integers(0, 1)) :]
    return line

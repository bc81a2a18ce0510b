"""`doc/pygent.txt`, from what the plugin's source says of itself."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

from clients.neovim.scripts.help_source import (
    ApiFunction,
    Named,
    Option,
    Subcommand,
    events_in,
    functions_in,
    highlights_in,
    keys_in,
    options_in,
    subcommands_in,
)

WIDTH = 78

PARTS = (
    ("chat", "In the chat", "chat"),
    ("prompt", "In the prompt's window", "prompt"),
    ("permission", "In a permission prompt", "permission"),
    ("review", "In a buffer with edits under review", "review"),
)
"""Windows with keys of their own: the name in tags, the heading, and the folder below `lua/pygent`."""

INTRODUCTION = """\
pygent is an AI coding agent that runs in the editor as a language server.
This plugin starts the agent, shows its chat, asks for permission in a float
with the diff, and lets you review each edit. It needs Neovim 0.11 or newer
and the program `pygent-ls` (`pip install pygent-ls`), and no configuration:
>vim
    :Pygent ask why does the test fail?
<
opens the chat, where the answer streams. |:Pygent| without arguments opens an
empty chat. `:checkhealth pygent` shows what is missing. To start the agent
with the first file instead of the first |:Pygent|:
>lua
    vim.lsp.enable("pygent")
<
`docs/neovim.md` of the project describes the installation, and has recipes
for completion, statuslines and mappings.
"""

INLINE = """\
Select lines and describe the change:
>vim
    :'<,'>Pygent edit make it async
<
No window opens. Virtual text beside the first line shows the progress. If
nothing changes, it shows why, until you next change the text. Changed lines
wait for review in place (|pygent-option-review.keys|), and the edit includes
unsaved text. The agent asks for permission as in the chat. `:Pygent stop` in
these lines stops the edit. A second edit waits for the first.

The inline edits of a project have their own session, "Inline edits", with the
model, the agent and the mode of the current session; the model receives only
the file and your instruction. |:Pygent-resume| opens the session. The command
is also an operator, which |.| repeats with the same instruction:
>lua
    vim.keymap.set({ "n", "x" }, "gE", "<Plug>(pygent-edit)")
<
"""


def help_page(plugin: Path) -> str:
    """The whole page. Raises `HelpError` where the source does not say what belongs into it."""
    lua = plugin / "lua" / "pygent"
    sections = [
        ("pygent-introduction", "Introduction", INTRODUCTION),
        ("pygent-commands", "Commands", "".join(_commands(subcommands_in(lua / "commands")))),
        ("pygent-inline", "Inline edits", INLINE),
        ("pygent-options", "Options", "".join(_options(options_in(lua / "config.lua")))),
        ("pygent-mappings", "Keys", "".join(_keys(plugin))),
        ("pygent-functions", "Functions", "".join(_functions(functions_in(lua / "init.lua")))),
        ("pygent-events", "Autocommands", "".join(_events(events_in(lua / "notifications.lua")))),
        ("pygent-highlights", "Highlight groups", "".join(_highlights(highlights_in(lua)))),
    ]
    contents = "".join(_spread(f"{n}. {title}", f"|{tag}|", ".") for n, (tag, title, _) in enumerate(sections, 1))
    parts = [
        "*pygent.txt*  An AI coding agent in the editor\n",
        "\n",
        "Generated from the plugin's source by `make docs`: change that, not this page.\n",
        "\n",
        _heading("Contents", "pygent"),
        contents,
        *(part for tag, title, text in sections for part in ("\n", _heading(title, tag), text)),
        "\nvim:tw=78:ts=8:noet:ft=help:norl:\n",
    ]
    return re.sub(r"\n{3,}", "\n\n", "".join(parts))


def _heading(title: str, tag: str) -> str:
    return "=" * WIDTH + "\n" + _spread(title.upper(), f"*{tag}*") + "\n"


def _spread(left: str, right: str, fill: str = " ") -> str:
    gap = max(WIDTH - len(left) - len(right) - 2, 1)
    return f"{left} {fill * gap} {right}\n"


def _entry(head: str, tags: Iterable[str], text: str) -> str:
    """Return a heading with its tags at the right, or above it if they do not fit, and an indented text."""
    marks = " ".join(f"*{tag}*" for tag in tags)
    stands_beside = len(head) + len(marks) + 2 <= WIDTH
    first = _spread(head, marks) if stands_beside else f"{marks:>{WIDTH}}\n{head}\n"
    return first + _paragraph(text) + "\n"


def _paragraph(text: str, indent: int = 4) -> str:
    plain = " ".join(text.split())
    if not plain:
        return ""
    sentence = plain[0].upper() + plain[1:] + ("" if plain.endswith((".", ":", "`")) else ".")
    pad = " " * indent
    return textwrap.fill(sentence, WIDTH, initial_indent=pad, subsequent_indent=pad, break_on_hyphens=False) + "\n"


def _commands(found: list[Subcommand]) -> Iterator[str]:
    yield _entry(
        ":[range]Pygent [{subcommand}] [{arguments}]",
        [":Pygent"],
        "Runs the subcommand; without a subcommand it opens the chat. Subcommands and their arguments are completed.",
    )
    for one in found:
        yield _entry(f":Pygent {one.name} {one.arguments}".rstrip(), [f":Pygent-{one.name}"], one.text)


def _options(found: list[Option]) -> Iterator[str]:
    yield _paragraph("Pass options to |pygent.setup()|, or set them before as a table in `vim.g.pygent`:", 0)
    yield '>lua\n    require("pygent").setup({ chat = { position = "below", size = 0.3 } })\n<\n'
    yield _paragraph("An option that is unknown or has the wrong type is reported, and its default is used.", 0) + "\n"
    for one in found:
        default = f" The default is `{one.default}`." if one.default and len(one.default) < WIDTH else ""
        text = one.text if one.text.endswith(".") or not one.text else one.text + "."
        yield _entry(one.name, [f"pygent-option-{one.name}"], text + default).removesuffix("\n")
        yield f"    Type: `{one.type}`\n\n"


def _keys(plugin: Path) -> Iterator[str]:
    yield _paragraph(
        "The plugin maps no keys in your own buffers, except |pygent-option-review.keys| while edits wait. Examples of"
        " mappings:",
        0,
    )
    yield '>lua\n    vim.keymap.set({ "n", "x" }, "gp", "<Plug>(pygent-ask)")\n'
    yield '    vim.keymap.set("n", "<leader>pc", "<Plug>(pygent-chat)")\n<\n'
    for one in keys_in(plugin / "plugin"):
        yield _entry(f"{one.name}  ({_modes(one.more)})", [one.name], one.text)
    for tag, title, folder in PARTS:
        found = keys_in(plugin / "lua" / "pygent" / folder)
        if found:
            yield _spread(f"{title} ~", f"*pygent-{tag}-keys*") + "\n"
        for one in found:
            yield _entry(f"{one.name}  ({_modes(one.more)})", [f"pygent-{tag}-{_key_tag(one)}"], one.text)


def _modes(modes: str) -> str:
    names = {"n": "normal", "x": "visual", "v": "visual", "i": "insert", "o": "operator-pending"}
    return ", ".join(names.get(mode, mode) for mode in modes) + " mode" + ("s" if len(modes) > 1 else "")


def _key_tag(key: Named) -> str:
    """A key as a tag, in which neither a bar nor a star may stand; as Vim has it, `i_` for insert mode alone."""
    bare = key.name.replace("|", "bar").replace("*", "star")
    return bare if "n" in key.more else f"{key.more}_{bare}"


def _functions(found: list[ApiFunction]) -> Iterator[str]:
    for one in found:
        names = ", ".join(f"{{{name.rstrip('?')}}}" for name, _, _ in one.parameters)
        yield _entry(f"pygent.{one.name}({names})", [f"pygent.{one.name}()"], one.text).removesuffix("\n")
        for name, type_, text in one.parameters:
            mark = "?" if name.endswith("?") else ""
            yield f"    {{{name.rstrip('?')}}} (`{type_}{mark}`)\n" + _paragraph(text, 8)
        for returned in one.returns:
            yield f"    Returns: `{returned}`\n"
        yield "\n"


def _events(found: list[Named]) -> Iterator[str]:
    yield _paragraph("Each is a |User| autocommand; `data` in its callback's argument has the listed fields:", 0)
    yield '>lua\n    vim.api.nvim_create_autocmd("User", {\n      pattern = "PygentTurnFinished",\n'
    yield "      callback = function(about)\n        vim.notify(about.data.event.stopReason)\n      end,\n    })\n<\n"
    for one in found:
        yield _entry(one.name, [one.name], one.text)


def _highlights(found: list[Named]) -> Iterator[str]:
    yield _paragraph("Each is linked to a group of Neovim, unless you or your colour scheme define it.", 0) + "\n"
    for one in found:
        yield _entry(one.name, [f"hl-{one.name}"], f"{one.text} (linked to `{one.more}`)")

"""How late timers of Neovim come while an answer streams into the chat: what a person feels as a key that hangs."""

from __future__ import annotations

from tests.clients.neovim.nvim import Editor

INTERVAL_MS = 5
"""Between two calls of the timer."""

BEGIN = """
local interval_ms = ...
local uv = vim.uv
_G.late_ms, _G.is_over = {}, false
local timer, last = assert(uv.new_timer()), uv.hrtime()
timer:start(interval_ms, interval_ms, function()
  local now = uv.hrtime()
  table.insert(_G.late_ms, math.max((now - last) / 1e6 - interval_ms, 0))
  last = now
  if _G.is_over then
    timer:close()
  end
end)
"""

IS_DRAWN = """
local chat = vim.fn.bufnr("pygent://chat/")
local lines = vim.api.nvim_buf_get_lines(chat, -12, -1, false)
_G.is_over = vim.list_contains(lines, ...)
return _G.is_over
"""

LAST = "That is all."

PARAGRAPH = """\
## What happens in `parse` then

The reader goes on *until* a line ends, and then **twice** more; see `reader.lua:12`. What it
found is kept:

- the first of them, with its place
- all others, without one

```lua
local function parse(line)
  for word in line:gmatch("%S+") do
    print(word, #word)
  end
end
```

"""
"""About 100 tokens of what models write: a heading, marks in lines, a list, a fence."""

TOKEN_CHARS = 4


def answer(n_tokens: int) -> str:
    """Markdown of about that many tokens, of four characters each, and `LAST`."""
    return PARAGRAPH * (n_tokens * TOKEN_CHARS // len(PARAGRAPH)) + LAST


def begin(editor: Editor) -> None:
    """Measure from now on, until the end of the answer is drawn."""
    editor.lua(BEGIN, INTERVAL_MS)


def is_drawn(editor: Editor) -> bool:
    """Whether the answer is there to its last word; then no more is measured."""
    return bool(editor.lua(IS_DRAWN, LAST))


def late_ms(editor: Editor) -> list[float]:
    """How much later than asked for each call of the timer came, in milliseconds."""
    return list(editor.lua("return _G.late_ms"))

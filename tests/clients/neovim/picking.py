"""A picker in place of Neovim's own `vim.ui.select`, as plugins of users put theirs there; it takes what it is told."""

from __future__ import annotations

from typing import cast

from tests.clients.neovim.nvim import Editor

PICKER = """
_G.offered = {}
_G.choices = {}
vim.ui.select = function(items, options, on_choice)
  local titles = vim.tbl_map(options.format_item or tostring, items)
  table.insert(_G.offered, { prompt = options.prompt, titles = titles })
  local wanted = table.remove(_G.choices, 1)
  for index, title in ipairs(titles) do
    if index == wanted or (type(wanted) == "string" and title:find(wanted, 1, true)) then
      return on_choice(items[index], index)
    end
  end
  on_choice(nil, nil)
end
"""


class Picker:
    """What is chosen when something is offered, and what was offered."""

    def __init__(self, editor: Editor) -> None:
        self._editor = editor
        editor.lua(PICKER)

    def will_choose(self, *parts: str | int) -> None:
        """Return the titles with these parts, or at these places from 1, one for each list; none if nothing matches."""
        self._editor.lua("_G.offered, _G.choices = {}, ...", list(parts))

    def offered(self, n_lists: int = 1) -> list[list[str]]:
        """The titles of so many lists, once they were offered."""
        lists = self._editor.until("return #_G.offered >= ... and _G.offered", n_lists, what=f"{n_lists} lists")
        return [cast("list[str]", each["titles"]) for each in lists]

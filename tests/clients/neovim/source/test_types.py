"""The check of the plugin's types: it finds nothing in the plugin, and each kind of mistake that it is for."""

import shutil
from collections.abc import Callable

import pytest

from clients.neovim.scripts.check_types import PLUGIN, problems_of

MISTAKES = {
    # Annotations
    "local M = {}\n---@param one Strng\nfunction M.f(one) end\nreturn M": "2: no type is called `Strng`",
    "---@class test.Box\n---@field size nmber": "2: no type is called `nmber`",
    "---@alias test.Size pygent.Sise": "1: no type is called `pygent.Sise`",
    "local size = 1 ---@type test.Gone": "1: no type is called `test.Gone`",
    "local size = vim.fn.rand() --[[@as test.Lost]]": "1: no type is called `test.Lost`",
    "---@class test.Child: test.Parent": "1: no type is called `test.Parent`",
    "---@parm one string": "1: `@parm` is no tag of LuaCATS",
    "local M = {}\n---@param one\nfunction M.f(one) end\nreturn M": "2: `@param one`",
    "local M = {}\n---@param one table<string\nfunction M.f(one) end\nreturn M": "2: `@param one table<string`",
    "local M = {}\nfunction M.f(one) end\nreturn M": "2: `@param` is missing for one",
    "local M = {}\n---@param two string\nfunction M.f(one) end\nreturn M": "3: `@param two` is of no parameter",
    "local M = {}\n---@param b string\n---@param a string\nfunction M.f(a, b) end\nreturn M": (
        "4: `@param` has another order"
    ),
    "local M = {}\nfunction M.f() return 1 end\nreturn M": "2: `@return` is missing: line 2 returns a value",
    "---@class test.Twice\n\n---@class test.Twice": "3: `test.Twice` is declared at",
    # Functions
    "local M = {}\n---@return string\nfunction M.f() return 1 end\nreturn M": "3: what is returned should be string",
    "local M = {}\n---@return string\nfunction M.f() end\nreturn M": (
        "3: nothing is returned, where `string` is promised"
    ),
    "local M = {}\n---@return string\n---@return integer\nfunction M.f() return 'a' end\nreturn M": (
        "4: `integer` is promised, and not returned"
    ),
    "local M = {}\n---@return string\nfunction M.f() return 'a', 2 end\nreturn M": "3: 2 values are returned, where 1",
    "local M = {}\n---@param n integer\nfunction M.f(n) end\nM.f('x')\nreturn M": "4: `n` of `M.f` should be integer",
    "local M = {}\n---@param n integer\nfunction M.f(n) end\nM.f()\nreturn M": "4: `M.f` is not given `n`",
    "local M = {}\n---@param n integer\nfunction M.f(n) end\nM.f(1, 2)\nreturn M": (
        "4: `M.f` takes 1 arguments, and is given 2"
    ),
    "vim.api.nvim_buf_set_lines(0, 0, -1, false)": "1: `vim.api.nvim_buf_set_lines` is not given `replacement`",
    "vim.api.nvim_buf_get_name('x')": "1: `buffer` of `vim.api.nvim_buf_get_name` should be integer",
    "require('pygent.gone')": "1: there is no module `pygent.gone`",
    "require('pygent').stop_all()": "1: `require:pygent` has no field `stop_all`",
    # What the wire carries
    "---@param e pygent.FinishedEvent\nlocal function f(e) return tostring(e.stopReson) end\nf({})": (
        "2: `pygent.FinishedEvent` has no field `stopReson`"
    ),
    "---@param e pygent.Event\nlocal function f(e) if e.type == 'text_dleta' then f(e) end end": (
        '2: it is never "text_dleta"'
    ),
    "---@param s pygent.Sessions\nlocal function f(s) for _, one in ipairs(s.sessions) do print(one.nme) end end": (
        "2: `pygent.Session` has no field `nme`"
    ),
    "---@type pygent.TurnParams\nlocal params = { sessionID = 'x' }": "2: `pygent.TurnParams` has no field `sessionID`",
    "---@type pygent.TurnParams\nlocal params = {}": "2: `pygent.TurnParams` needs sessionId, too",
    "---@type pygent.SetModeParams\nlocal params = { sessionId = 'x', mode = 'bold' }": (
        "2: `mode` should be pygent.Mode"
    ),
    "---@type pygent.ContentBlock\nlocal block = { type = 'txt', text = '' }": "2: this is none of pygent.TextContent",
    "local level = 1 ---@type pygent.Risk\nprint(level)": "1: `level` should be pygent.Risk, and is number",
    # Objects
    "---@class test.A\n---@field n integer\nlocal A = {}\nA.__index = A\nfunction A:f() self.m = 1 end\nreturn A": (
        "5: `test.A` has no field `m`"
    ),
    "---@class test.B\n---@field n integer\nlocal B = {}\nfunction B:f() self.n = 'x' end\nreturn B": (
        "4: `self.n` should be integer"
    ),
    "---@class test.C\n---@field n integer\nlocal C = {}\nsetmetatable({ k = 1 }, C)\nreturn C": (
        "4: `test.C` has no field `k`"
    ),
    "---@param f fun(e: pygent.PlanEvent)\nlocal function on(f) end\non(function(e) print(e.entry) end)": (
        "3: `pygent.PlanEvent` has no field `entry`"
    ),
    # Neovim
    "vim.api.nvim_buf_get_linez(0)": "1: Neovim has no `vim.api.nvim_buf_get_linez`",
    "vim.fn.getcwdd()": "1: Neovim has no `vim.fn.getcwdd`",
    "vim.bo[1].filetyp = 'lua'": "1: Neovim has no `option filetyp`",
    "vim.o.colums = 3": "1: Neovim has no `vim.o.colums`",
    "local x = = 1": "1: this is no Lua",
}

FINE = """
local client = require("pygent.protocol")

---@class test.Shape
---@field kind "round"|"square"
---@field size? integer how large it is
---@field [string] any
local Shape = {}
Shape.__index = Shape

---@alias test.Draw fun(shape: test.Shape, ...: any): boolean, string?

---@generic T
---@param items T[]
---@param pick? fun(item: T): boolean
---@return T?
local function first(items, pick)
  for _, item in ipairs(items) do
    if pick == nil or pick(item) then
      return item
    end
  end
end

---@param kind string
---@param _unused any
---@return test.Shape
---@return string? problem
function Shape.new(kind, _unused)
  local made = setmetatable({ kind = "round" }, Shape)
  if kind ~= "round" then
    return made, "no such kind"
  end
  made.anything = kind
  return made
end

---@type test.Draw
function Shape.draw(shape, more)
  return shape.kind == "round" and more ~= nil
end

---@param event pygent.Event
---@param session { id: string, name?: string, [integer]: boolean }
---@return integer
function Shape:take(event, session)
  local names = {} ---@type string[]
  if event.type == "text_delta" then
    table.insert(names, event.content)
  end
  for name, value in pairs(vim.tbl_extend("force", { a = 1 }, {})) do
    names[#names + 1] = name .. tostring(value)
  end
  vim.schedule(function()
    vim.api.nvim_buf_set_lines(0, 0, -1, false, names)
    vim.bo.filetype = "lua"
    vim.wo[0][0].wrap = true
  end)
  first(names, function(name)
    return name == session.name
  end)
  local size = self.size or client.VERSION
  return (size --[[@as integer]])
end

return Shape
"""

Found = Callable[[str], list[str]]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """What is found in the file of that text; all of them are in one plugin, which is checked once."""
    plugin = tmp_path_factory.mktemp("plugin")
    home = plugin / "lua" / "pygent"
    home.mkdir(parents=True)
    shutil.copy(PLUGIN / "lua/pygent/protocol.lua", home)
    shutil.copy(PLUGIN / "lua/pygent/init.lua", home)
    files = {code: home / f"mistake{index}.lua" for index, code in enumerate([*MISTAKES, FINE])}
    for code, path in files.items():
        path.write_text(code, encoding="utf-8")
    problems = problems_of(plugin)
    return lambda code: [f"{one.line}: {one.message}" for one in problems if one.path == files[code]]


def test_the_types_of_the_plugin_are_right() -> None:
    assert "\n".join(map(str, problems_of(PLUGIN))) == ""


@pytest.mark.parametrize("code", MISTAKES)
def test_a_mistake_is_found(found: Found, code: str) -> None:
    assert [one for one in found(code) if one.startswith(MISTAKES[code])], found(code)


def test_good_code_has_no_problem(found: Found) -> None:
    assert found(FINE) == []

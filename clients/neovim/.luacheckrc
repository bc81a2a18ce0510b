-- `luacheck .` in this folder; a test runs it.
std = "luajit"
cache = false
max_line_length = 120
max_cyclomatic_complexity = 15 -- `and` and `or` are counted, too
self = false -- a method need not use `self`

-- `vim.bo`, `vim.g` and their likes are written to.
globals = { "vim" }

files["lua/pygent/protocol.lua"] = { max_line_length = false }

--- A daemon that does not start: why, what helps, and the window that says so last and stays.

local config = require("pygent.config")
local plain_text = require("pygent.chat.renderer.plain_text")

local M = {}

---What went wrong, and what to do about it.
---@class pygent.StartFailure
---@field what string
---@field advice string

local INSTALL = "install it with `uv tool install pygent-ls` or `pip install pygent-ls`"

---Maximum number of characters of the daemon's last output.
local MAX_WORDS = 300

---@return string
local function again()
  return "Install it again with `uv tool install --reinstall pygent-ls`, or correct the option `cmd`"
end

---The program that the first line of a script names.
---@param path string
---@return string?
local function interpreter_of(path)
  local file = io.open(path, "rb")
  local line = file and file:read(256) or ""
  if file then
    file:close()
  end
  return line:match("^#!%s*([^%s]+)")
end

---The program cannot be run: it is not there, or its Python is not.
---@param program string
---@return pygent.StartFailure
function M.of_program(program)
  local path = vim.fn.exepath(program)
  if path == "" then
    local advice = INSTALL:gsub("^i", "I") .. ", or name it in the option `cmd`"
    return { what = ("`%s` was not found"):format(program), advice = advice }
  end
  local interpreter = interpreter_of(path)
  if interpreter and vim.fn.executable(interpreter) == 0 then
    local what = ("`%s` cannot run: its Python interpreter %s is missing"):format(program, interpreter)
    return { what = what, advice = again() }
  end
  return { what = ("`%s` could not be run"):format(program), advice = again() }
end

---Return the message for a daemon that ended before it answered.
---@param how string such as "code 1"
---@param last_words? string that it wrote to its standard error
---@return pygent.StartFailure
function M.of_end(how, last_words)
  local what = ("`%s` exited at its start with %s"):format(table.concat(config.get().cmd, " "), how)
  if last_words == nil then
    return { what = what, advice = "`:Pygent log` may show why" }
  end
  local is_python = last_words:find("No module named", 1, true) or last_words:find("SyntaxError", 1, true)
  return {
    what = ("%s: %s"):format(what, plain_text.line(last_words, MAX_WORDS)),
    advice = is_python and "A Python package is missing: " .. again():gsub("^I", "i")
      or "`:Pygent log` shows the whole output",
  }
end

---Return the message for an answer of another program, or of another version.
---@param version any of the protocol that it speaks
---@param ours integer
---@return pygent.StartFailure
function M.of_protocol(version, ours)
  if version == nil then
    return { what = "The program in the option `cmd` is not pygent-ls", advice = "Correct the option" }
  end
  local what = "pygent-ls has protocol version %s, this plugin version %d"
  return { what = what:format(tostring(version), ours), advice = "Update the older one" }
end

---@param failure pygent.StartFailure
---@return string
function M.sentence(failure)
  return ("%s. %s."):format(failure.what, failure.advice)
end

---Takes away what is shown.
---@type fun()?
local remove

local function hide()
  if remove then
    remove()
    remove = nil
  end
end

---@param title string
---@param run fun()
---@return pygent.DialogChoice
local function choice(title, run)
  return {
    title = title,
    choose = function()
      hide()
      run()
    end,
  }
end

---@param root string
local function start(root)
  require("pygent.daemon.client").need(function(client)
    if client then
      require("pygent.notifications").user("started")
    end
  end, root)
end

---Show it, in place of what was shown before.
---@param root string
---@param failure pygent.StartFailure
function M.show(root, failure)
  hide()
  local words = M.sentence(failure)
  local choices = { ---@type pygent.DialogChoice[]
    choice("Try again", function()
      start(root)
    end),
    choice("Open :checkhealth pygent", function()
      vim.cmd.checkhealth("pygent")
    end),
    choice("Close", function() end),
  }
  local dialog = require("pygent.permission.text_dialog").dialog("start", "PygentAskHigh", words, choices)
  dialog.heading = "pygent did not start"
  remove = require("pygent.permission.dialogs").add(dialog)
end

return M

--- The daemon as Neovim's own LSP client: one for each project.
local config = require("pygent.config")
local consent = require("pygent.daemon.consent")
local process = require("pygent.daemon.process")
local roots = require("pygent.daemon.root")
local start_failure = require("pygent.daemon.start_failure")
local notifications = require("pygent.notifications")

local M = {}

M.NAME = "pygent"

---Version of the protocol that this plugin speaks: `protocolVersion` of the daemon.
M.PROTOCOL_VERSION = require("pygent.protocol").VERSION

---Requests `pygent/client/…` about code that `pygent.language` answers.
M.LANGUAGE_FEATURES = { "diagnostics", "locations", "hover", "symbols", "calls", "rename", "codeActions", "format" }

---The code of the error that a request has when the daemon ends before it has answered, which the user is told anyway.
M.ENDED = -32099

---How soon after a keystroke the daemon hears of it, in milliseconds; Neovim's own 150 would let edits meet stale text.
local DEBOUNCE_MS = 20

---What the daemon asks of the editor, by method: answers through `respond`, once, now or later.
---@alias pygent.Answer fun(params: table, respond: fun(result: any), ctx: lsp.HandlerContext)

---@type table<string, pygent.Answer>
local answers = {}
---@type table<string, fun(params: table, ctx: lsp.HandlerContext)>
local listeners = {}
---Receivers of the events of a `partialResultToken`.
---@type table<string, fun(events: pygent.Event[])>
local followers = {}
---What was asked of a client and is not answered yet, by its id: who waits is told when it is gone.
---@type table<integer, table<{callback: pygent.Callback}, true>>
local pending = {}
---Callbacks that wait for a client of a root.
---@type table<string, fun(client: vim.lsp.Client?, problem: string?)[]>
local waiting = {}
---Told of each client that has become ready, or is gone.
---@type fun(client: vim.lsp.Client, is_ready: boolean)[]
local watchers = {}
local n_tokens = 0

---Answer what the daemon asks by that method. Before the client is started.
---@param method string
---@param answer pygent.Answer
function M.answer(method, answer)
  answers[method] = answer
end

---Hear what the daemon tells by that method. Before the client is started.
---@param method string
---@param listener fun(params: table, ctx: lsp.HandlerContext)
function M.listen(method, listener)
  listeners[method] = listener
end

---Hear when a client is ready, and when it is gone.
---@param watcher fun(client: vim.lsp.Client, is_ready: boolean)
function M.watch(watcher)
  table.insert(watchers, watcher)
end

---Take the values that come on a new `partialResultToken`.
---@param take fun(value: pygent.Events|pygent.Items)
---@return string token
---@return fun() stop
function M.follow(take)
  n_tokens = n_tokens + 1
  local token = "pygent-" .. n_tokens
  followers[token] = take
  return token, function()
    followers[token] = nil
  end
end

---@param root string
---@return vim.lsp.Client?
local function started(root)
  for _, client in ipairs(vim.lsp.get_clients({ name = M.NAME, _uninitialized = true })) do
    if client.root_dir == root and not client:is_stopped() then
      return client
    end
  end
end

---Return the client of a project if it is ready.
---@param root? string without it that of the project that is worked in
---@return vim.lsp.Client?
function M.ready(root)
  local client = started(root or roots.current())
  return client and client.initialized and client or nil
end

---Return all ready clients.
---@return vim.lsp.Client[]
function M.all()
  return vim.tbl_filter(function(client)
    return client.initialized == true
  end, vim.lsp.get_clients({ name = M.NAME }))
end

---@param root string
---@param client? vim.lsp.Client
---@param problem? string
local function tell(root, client, problem)
  local told = waiting[root] or {}
  waiting[root] = nil
  for _, go_on in ipairs(told) do
    go_on(client, problem)
  end
end

---No daemon is there: who waits is told, and the user last.
---@param root string
---@param failure pygent.StartFailure
local function fail(root, failure)
  tell(root, nil, start_failure.sentence(failure))
  start_failure.show(root, failure)
end

---@param root string
local function start_client(root)
  if consent.is_needed(root) then
    return consent.ask(root, function(has_agreed)
      if has_agreed then
        return start_client(root)
      end
      tell(root, nil, ("%s is not a project; open a file of one, or `:cd` to its folder"):format(root))
    end)
  end
  local made = vim.deepcopy(vim.lsp.config[M.NAME] or M.config())
  made.root_dir = root
  local command = type(made.cmd) == "table" and made.cmd or config.get().cmd
  local is_runnable = vim.fn.executable(command[1]) == 1
  if not is_runnable or vim.lsp.start(made, { attach = false, silent = true }) == nil then
    fail(root, start_failure.of_program(command[1]))
  end
end

---Call back with the client of the project, which is started if it does not run; without a client, with the reason.
---@param go_on fun(client: vim.lsp.Client?, problem: string?)
---@param root? string
function M.need(go_on, root)
  root = root or roots.current()
  local client = started(root)
  if client and client.initialized then
    return go_on(client)
  end
  waiting[root] = waiting[root] or {}
  table.insert(waiting[root], go_on)
  if client == nil then
    start_client(root)
  end
  notifications.while_waiting("starting …", function()
    return waiting[root] ~= nil and started(root) ~= nil
  end)
end

---@alias pygent.Callback fun(err: lsp.ResponseError?, result: any)

---Ask the daemon.
---@param client vim.lsp.Client
---@param method string
---@param params table
---@param callback pygent.Callback
---@return fun() cancel
function M.request(client, method, params, callback)
  local asked = { callback = callback }
  local unanswered = pending[client.id] or {}
  pending[client.id] = unanswered
  local is_sent, id = client:request(method, params, function(err, result)
    unanswered[asked] = nil
    callback(err, result)
  end)
  if not is_sent then
    vim.schedule(function()
      callback({ code = -32000, message = "pygent is not running; `:Pygent restart` starts it" }, nil)
    end)
    return function() end
  end
  unanswered[asked] = true
  return function()
    client:cancel_request(id --[[@as integer]])
  end
end

---@param root string
local function restart(root)
  local function start()
    M.need(function(client, problem)
      local done = ("restarted, for %s"):format(vim.fn.fnamemodify(root, ":~"))
      notifications.user(client and done or (problem or "it did not start"), client and nil or vim.log.levels.ERROR)
    end, root)
  end
  local client = started(root)
  if client then
    process.stop(client, start)
  else
    start()
  end
end

---End the daemon of the project, and start it anew.
---@param is_all boolean those of all projects
function M.restart(is_all)
  local project, chosen = roots.current(), {} ---@type string, table<string, true>
  chosen[project] = true
  for _, client in ipairs(is_all and vim.lsp.get_clients({ name = M.NAME, _uninitialized = true }) or {}) do
    chosen[client.root_dir] = true
  end
  for root in pairs(chosen) do
    restart(root)
  end
end

---@param buffer integer
---@param on_dir fun(root: string)
local function root_of(buffer, on_dir)
  local root = roots.project(buffer)
  if root and (started(root) or not consent.is_needed(root)) then
    on_dir(root)
  end
end

---@param params lsp.InitializeParams
local function before_init(params, _)
  local options = config.get()
  params.initializationOptions = vim.tbl_deep_extend("force", params.initializationOptions or {}, {
    pygent = next(options.settings) and options.settings or vim.empty_dict(),
  })
  local capabilities = params.capabilities
  -- Neovim itself does not say so; with it, edits carry versions, and files are created, moved and deleted with them.
  capabilities.workspace.workspaceEdit.documentChanges = true
  capabilities.experimental = vim.tbl_deep_extend("force", capabilities.experimental or {}, {
    pygent = {
      permissionRequest = true,
      questionRequest = true,
      saveDocuments = true,
      contextUpdates = true,
      textDigests = true,
      reviewRequest = options.review.when == "each",
      pendingReview = options.review.when == "after",
      chatPanel = true,
      languageFeatures = M.LANGUAGE_FEATURES,
    },
  })
end

---@param client vim.lsp.Client
local function on_init(client)
  local experimental = client.server_capabilities.experimental or {} ---@type table<string, any>
  local own = experimental.pygent or {} ---@type table<string, any>
  if own.protocolVersion ~= M.PROTOCOL_VERSION then
    fail(client.root_dir, start_failure.of_protocol(own.protocolVersion, M.PROTOCOL_VERSION))
    return process.stop(client, function() end)
  end
  require("pygent.daemon.buffer_attachment").begin(client)
  for _, watcher in ipairs(watchers) do
    watcher(client, true)
  end
  notifications.plugins("PygentReady", { client_id = client.id, root = client.root_dir })
  tell(client.root_dir, client)
end

---@param client vim.lsp.Client
---@param how string
local function not_started(client, how)
  notifications.after_neovim(function()
    if started(client.root_dir) == nil then
      fail(client.root_dir, start_failure.of_end(how, process.last_words(client.rpc)))
    end
  end)
end

---@param client vim.lsp.Client
---@param how string
---@param was_expected boolean
local function ended(client, how, was_expected)
  local problem = ("the daemon ended with %s; `:Pygent log` shows why, `:Pygent restart` starts it again"):format(how)
  if not was_expected and waiting[client.root_dir] == nil then
    notifications.after_neovim(function()
      notifications.user(problem, vim.log.levels.ERROR)
    end)
  end
  if started(client.root_dir) == nil then -- else who waits, waits for the one that came after it
    tell(client.root_dir, nil, problem)
  end
end

---Fail the requests to that client that are still unanswered.
---@param id integer
local function leave_unanswered(id)
  local unanswered = pending[id] or {}
  pending[id] = nil
  for asked in pairs(unanswered) do
    asked.callback({ code = M.ENDED, message = "the daemon ended before it answered" }, nil)
  end
end

---@param code integer
---@param signal integer
---@param id integer
local function on_exit(code, signal, id)
  local client = vim.lsp.get_client_by_id(id)
  if client == nil then
    return
  end
  vim.schedule(function()
    local tell_ended = process.ended(id)
    for _, watcher in ipairs(watchers) do
      watcher(client, false)
    end
    leave_unanswered(id)
    notifications.plugins("PygentExit", { client_id = id, code = code, signal = signal })
    local how = signal ~= 0 and ("signal %d"):format(signal) or ("code %d"):format(code)
    if tell_ended == nil and not client.initialized then
      not_started(client, how)
    else
      ended(client, how, tell_ended ~= nil or (code == 0 and signal == 0))
    end
    if tell_ended then
      tell_ended()
    end
  end)
end

---Neovim calls the handler of a request in a coroutine, and sends what it returns: it may wait.
---@param answer pygent.Answer
---@param params table
---@param ctx lsp.HandlerContext
---@return any
local function answered(answer, params, ctx)
  local waits, result, is_over = coroutine.running(), nil, false
  local is_waiting = false
  answer(params, function(given)
    if is_over then
      return
    end
    is_over, result = true, given
    if is_waiting then
      local is_well, problem = coroutine.resume(waits, given)
      if not is_well then -- the answer was not sent
        notifications.user(notifications.reason(problem), vim.log.levels.ERROR)
      end
    end
  end, ctx)
  if not is_over then
    is_waiting = true
    result = coroutine.yield()
  end
  return result == nil and vim.NIL or result
end

---@return table<string, lsp.Handler>
local function handlers()
  local made = {} ---@type table<string, lsp.Handler>
  made["$/progress"] = function(err, params, ctx)
    local take = followers[params.token]
    if take then
      return take(params.value)
    end
    if type(params.value) == "table" and params.value.kind then
      return vim.lsp.handlers["$/progress"](err, params, ctx)
    end
  end
  require("pygent.views")
  for method, listener in pairs(listeners) do
    made[method] = function(_, params, ctx)
      listener(params, ctx)
    end
  end
  for method, answer in pairs(answers) do
    made[method] = function(_, params, ctx)
      return answered(answer, params, ctx)
    end
  end
  return made
end

---What `lsp/pygent.lua` gives to Neovim.
---@return vim.lsp.Config
function M.config()
  return {
    name = M.NAME,
    cmd = function(dispatchers)
      return process.spawn(dispatchers)
    end,
    root_dir = root_of,
    flags = { debounce_text_changes = DEBOUNCE_MS },
    before_init = before_init,
    on_init = on_init,
    on_exit = on_exit,
    handlers = handlers(),
  }
end

return M

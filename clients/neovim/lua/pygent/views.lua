--- Views of what the daemon asks and reports, loaded with the first client, so that requests are shown whichever turn
--- they belong to.

local user_requests = require("pygent.user_requests")

user_requests.shown_by("permission", function(ask)
  return require("pygent.permission").show(ask)
end)
user_requests.shown_by("question", function(ask)
  return require("pygent.permission.question").show(ask)
end)
user_requests.shown_by("review", function(ask)
  return require("pygent.review").show(ask)
end)
require("pygent.permission.message").begin()
require("pygent.edits").begin()
require("pygent.tools").begin()
require("pygent.language").begin()
require("pygent.review").begin()
require("pygent.daemon.context").begin()
require("pygent.statusline").begin()
require("pygent.voice")
require("pygent.suggestions")

-- For `vim.lsp.enable("pygent")`: the daemon is then there with the first file of the project, and not only with the
-- first `:Pygent`. What stands in `vim.lsp.config("pygent", …)` counts for both.

return require("pygent.daemon.client").config()

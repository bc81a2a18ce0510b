-- Configuration for `vim.lsp.enable("pygent")`, which starts the daemon with the first file of the project instead of
-- the first `:Pygent`. `vim.lsp.config("pygent", …)` applies to both.

return require("pygent.daemon.client").config()

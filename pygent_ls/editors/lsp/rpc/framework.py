"""Parts of pygls that the rest of the language server uses as they are. Only this folder imports pygls.

docs/decisions/076-pygls.md lists the parts that this folder replaces.
"""

from __future__ import annotations

from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer

__all__ = ["JsonRpcException", "JsonRpcInvalidParams", "LanguageServer"]

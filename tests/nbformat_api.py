"""Jupyter's own functions on notebooks, which have no complete types."""

from __future__ import annotations

from importlib import import_module
from typing import Any

nbformat: Any = import_module("nbformat")
v4: Any = import_module("nbformat.v4")

new_notebook, new_output = v4.new_notebook, v4.new_output
new_code_cell, new_markdown_cell = v4.new_code_cell, v4.new_markdown_cell

"""Updates of the read log after an edit, or after an error that quoted files."""

from __future__ import annotations

from pygent_ls.agent.display_text import excerpt
from pygent_ls.agent.ports.workspace import CopyBytes, DeleteFile, EditPlan, MoveFile, Workspace, WriteText
from pygent_ls.agent.tools.read_log import ReadLog
from pygent_ls.errors import ToolError


async def learn_applied(plan: EditPlan, workspace: Workspace, reads: ReadLog) -> None:
    """Record the written files as read by the model, unless the user has changed them since."""
    for operation in plan.operations:
        match operation:
            case WriteText(path=path, text=text):
                try:
                    document = await workspace.read(path)
                except ToolError:  # moved by a later operation of the plan, or by the user
                    reads.forget(path)
                    continue
                if document.text == text:
                    reads.record(document)
                else:
                    reads.outdate(path)
            case MoveFile(source=path) | DeleteFile(path=path):
                reads.forget(path)
            case CopyBytes():
                pass


async def learn_quoted(error: ToolError, plan: EditPlan, workspace: Workspace, reads: ReadLog) -> None:
    """Record as read the documents of a failed plan that the error quotes as they are now."""
    said = str(error)
    for operation in plan.operations:
        if not isinstance(operation, WriteText | DeleteFile):
            continue
        try:
            document = await workspace.read(operation.path)
        except ToolError:
            continue
        if excerpt(document.text) in said:
            reads.record(document)

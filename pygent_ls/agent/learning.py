"""What the model knows of files after an edit, or after an error that quoted them."""

from __future__ import annotations

from pygent_ls.agent.read_log import ReadLog
from pygent_ls.agent.tool import excerpt
from pygent_ls.agent.workspace import CopyBytes, DeleteFile, EditPlan, MoveFile, Workspace, WriteText
from pygent_ls.errors import ToolError


async def learn_applied(plan: EditPlan, workspace: Workspace, reads: ReadLog) -> None:
    """What the model wrote it knows; what the user typed into it since it does not."""
    for operation in plan.operations:
        match operation:
            case WriteText(path=path, text=text):
                try:
                    document = await workspace.read(path)
                except ToolError:  # moved on by the same plan, or by the user since
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
    """The documents of a plan that could not be applied are known where the error shows them as they are now."""
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

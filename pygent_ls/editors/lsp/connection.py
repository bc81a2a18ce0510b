"""The agent connected to one client: the ports on the editor, and the handlers that use them."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from pygent_ls.editors.lsp.capabilities import ClientFeatures
from pygent_ls.editors.lsp.chat_document.document import SUFFIX
from pygent_ls.editors.lsp.client import Client
from pygent_ls.editors.lsp.commands.crash_recovery import RecoveryOffers
from pygent_ls.editors.lsp.commands.execute_command import ClientCommands
from pygent_ls.editors.lsp.commands.review import ReviewCommands
from pygent_ls.editors.lsp.completion.inline_completion import InlineCompletion
from pygent_ls.editors.lsp.documents.buffers import Buffers
from pygent_ls.editors.lsp.documents.workspace_edits import EditorEdits, Previews
from pygent_ls.editors.lsp.handlers.configuration import Configuration
from pygent_ls.editors.lsp.handlers.requests import Requests
from pygent_ls.editors.lsp.handlers.voice import VoiceNotifications
from pygent_ls.editors.lsp.ports.approver import LspApprover
from pygent_ls.editors.lsp.ports.document_saves import DocumentSaves
from pygent_ls.editors.lsp.ports.editor_context import EditorContextState
from pygent_ls.editors.lsp.ports.pending_review import PendingReview
from pygent_ls.editors.lsp.ports.questioner import LspQuestioner
from pygent_ls.editors.lsp.ports.reviewer import LspReviewer
from pygent_ls.editors.lsp.ports.side_document import open_url
from pygent_ls.editors.lsp.ports.trust_prompt import ask_trust
from pygent_ls.editors.lsp.ports.workspace import LspWorkspace
from pygent_ls.editors.lsp.rpc.endpoint import RpcEndpoint
from pygent_ls.editors.lsp.transport.frame_sink import FrameSink
from pygent_ls.editors.lsp.uris import FileUris
from pygent_ls.editors.ports import Blueprint, FrontEnd, SpeechDisplay
from pygent_ls.editors.shutdown import close
from pygent_ls.sessions.session import Session
from pygent_ls.sessions.turns.request import TurnRequest


class Connection:
    """The agent and the handlers of one client, built after the response to `initialize` because this imports the
    agent."""

    def __init__(
        self,
        *,
        endpoint: RpcEndpoint,
        line: FrameSink,
        features: ClientFeatures,
        buffers: Buffers,
        uris: FileUris,
        blueprint: Blueprint,
    ) -> None:
        def session_changed(session_id: str, what: str) -> None:
            endpoint.tell("pygent/session/changed", {"sessionId": session_id, "what": what})

        def mcp_changed() -> None:
            if features.chat_panel:
                endpoint.tell("pygent/mcp/changed", {})

        def models_changed() -> None:
            if features.chat_panel:
                endpoint.tell("pygent/models/changed", {})

        def uri_of(path: Path) -> str:
            return buffers.uri_of(path) or uris.uri_of(path)

        def begin_turn(session: Session, request: TurnRequest) -> None:
            self.commands.begin(session, request, follows_session=voice.are_wanted)

        def configure(given: object) -> Sequence[str]:
            return self.core.configure(given)

        self.previews = Previews(endpoint=endpoint, features=features, are_wanted=lambda: self.core.reviews_edits)
        editor = EditorEdits(endpoint=endpoint, features=features, buffers=buffers, uris=uris, previews=self.previews)
        saving = DocumentSaves(endpoint=endpoint, features=features, buffers=buffers)
        self.told = told = EditorContextState(buffers, sends_updates=features.context_updates)
        client = Client(
            endpoint=endpoint,
            line=line,
            features=features,
            uri_of=uri_of,
            folders=lambda: uris.folders,
            told=told,
        )
        self.configuration = Configuration(endpoint, features, configure)
        self.workspace = LspWorkspace(buffers, editor, saving, uris.folders)
        self._pending = pending = PendingReview(
            self.workspace, buffers, uri_of, is_left_out=lambda path: path.name.endswith(SUFFIX)
        )
        self.review = ReviewCommands(client, pending, lambda: self.core.sessions)
        voice = VoiceNotifications(endpoint, is_wanted=features.chat_panel)
        questioner = LspQuestioner(endpoint=endpoint, has_own_form=features.question_request)
        self.core = blueprint.build(
            FrontEnd(
                workspace=self.workspace,
                approver=LspApprover(
                    endpoint=endpoint,
                    uri_of=uri_of,
                    features=features,
                    state_folder=lambda: self.core.state_folder,
                ),
                questioner=questioner,
                pauser=questioner,
                editor=told,
                reviewer=LspReviewer(
                    endpoint=endpoint, features=features, buffers=buffers, workspace=self.workspace, uri_of=uri_of
                )
                if features.has_own_review
                else pending,
                ask_trust=partial(ask_trust, endpoint, features, lambda: self.core.state_folder),
                configured=self.configuration.known,
                offers_setup=True,
                tell=lambda text: endpoint.show_message(f"pygent: {text}"),
                is_restricted=features.restricted,
                on_session_change=session_changed,
                on_models_change=models_changed,
                on_mcp_change=mcp_changed,
                open_url=partial(open_url, endpoint, features),
                speech=SpeechDisplay(begin=begin_turn, on_heard=voice.heard, on_change=voice.changed),
            )
        )
        self.requests = Requests(client, self.core, voice, pending)
        self.commands = ClientCommands(client, self.core, self.requests.turns, buffers, self.review)
        self.completion = InlineCompletion(client, buffers, self.workspace.shown, lambda: self.core.completions)
        self.offers = RecoveryOffers(client, self.core, self.commands)
        if not gc.isenabled():  # the first connection: from now on, garbage of closed connections must be collected
            gc.freeze()  # imported modules stay alive, so no collection needs to visit them
            gc.enable()

    def file_changed(self, path: Path) -> None:
        """Discard what is cached of a file or folder, and look at what is under review there."""
        self.core.file_changed(path)
        self._pending.file_changed(path)

    async def close(self) -> None:
        """Cancel every turn and wait for them within the limits of `closing`; no child process is left."""
        await self.offers.close()
        await self.commands.close()
        await self.review.close()
        await self.completion.close()
        await close(self.core)
        await self.commands.end_chats()
        await self.requests.attachments.close()

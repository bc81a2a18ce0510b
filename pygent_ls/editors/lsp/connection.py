"""The agent connected to one client: the ports on the editor, and the handlers that use them."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pygent_ls.agent.ports.editor_state import EditorStateIn
from pygent_ls.editors.lsp.chat_document.document import SUFFIX
from pygent_ls.editors.lsp.client import Client
from pygent_ls.editors.lsp.commands.commit_message import CommitMessages
from pygent_ls.editors.lsp.commands.crash_recovery import RecoveryOffers
from pygent_ls.editors.lsp.commands.execute_command import ClientCommands, GitCommands
from pygent_ls.editors.lsp.commands.findings import FindingCommands
from pygent_ls.editors.lsp.completion.context_files import ContextFiles
from pygent_ls.editors.lsp.completion.failures import CompletionFailures
from pygent_ls.editors.lsp.completion.inline_completion import InlineCompletion
from pygent_ls.editors.lsp.completion.next_edits import NextEdits
from pygent_ls.editors.lsp.completion.recent_edits import RecentEdits
from pygent_ls.editors.lsp.completion.registration import CompletionRegistration
from pygent_ls.editors.lsp.documents.published_diagnostics import PublishedDiagnostics
from pygent_ls.editors.lsp.documents.workspace_edits import EditorEdits, Previews
from pygent_ls.editors.lsp.handlers.client_extensions import ClientExtensions
from pygent_ls.editors.lsp.handlers.configuration import Configuration
from pygent_ls.editors.lsp.handlers.findings import FindingRequests
from pygent_ls.editors.lsp.handlers.requests import FeatureRequests, Requests
from pygent_ls.editors.lsp.handlers.review import ReviewRequests
from pygent_ls.editors.lsp.handlers.voice import VoiceNotifications
from pygent_ls.editors.lsp.ports.approver import LspApprover
from pygent_ls.editors.lsp.ports.document_saves import DocumentSaves
from pygent_ls.editors.lsp.ports.editor_context import EditorContextState
from pygent_ls.editors.lsp.ports.language_client import LanguageClient
from pygent_ls.editors.lsp.ports.questioner import LspQuestioner
from pygent_ls.editors.lsp.ports.side_document import open_url
from pygent_ls.editors.lsp.ports.tracked_findings import TrackedFindings
from pygent_ls.editors.lsp.ports.trust_prompt import ask_trust
from pygent_ls.editors.lsp.ports.workspace import LspWorkspace
from pygent_ls.editors.lsp.review.commands import ReviewCommands
from pygent_ls.editors.lsp.review.pending_review import PendingReview
from pygent_ls.editors.lsp.review.reviewer import LspReviewer
from pygent_ls.editors.lsp.review.store import ReviewStore
from pygent_ls.editors.ports import Blueprint, FrontEnd, SpeechDisplay
from pygent_ls.editors.shutdown import close

if TYPE_CHECKING:
    from pygent_ls.editors.lsp.capabilities import ClientFeatures
    from pygent_ls.editors.lsp.documents.buffers import Buffers
    from pygent_ls.editors.lsp.rpc.endpoint import RpcEndpoint
    from pygent_ls.editors.lsp.transport.frame_sink import FrameSink
    from pygent_ls.editors.lsp.uris import FileUris
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

        def in_worktree(folders: Sequence[Path]) -> FrontEnd:
            workspace = self.workspace.in_folders(folders)
            return front_end.beside(
                workspace, EditorStateIn(told, workspace.holds), replace(reviewing, workspace=workspace)
            )

        def configure(given: object) -> Sequence[str]:
            problems = self.core.configure(given)
            self.completion_registration.update()
            return problems

        self.extensions = extensions = ClientExtensions(endpoint)

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
            diagnostics=PublishedDiagnostics(endpoint.tell),
            told=told,
        )
        self.configuration = Configuration(endpoint, features, configure)
        self.workspace = LspWorkspace(buffers, editor, saving, uris.folders)
        self._pending = pending = PendingReview(
            self.workspace, buffers, uri_of, is_left_out=lambda path: path.name.endswith(SUFFIX)
        )
        self.review = ReviewCommands(client, pending, lambda: self.core.sessions)
        self._found = found = TrackedFindings(self.workspace, buffers)
        finding_requests = FindingRequests(client, found)
        self.findings = FindingCommands(client, found, finding_requests)
        voice = VoiceNotifications(endpoint, is_wanted=features.chat_panel)
        questioner = LspQuestioner(endpoint=endpoint, has_own_form=features.question_request)
        reviewing = LspReviewer(
            endpoint=endpoint, features=features, buffers=buffers, workspace=self.workspace, uri_of=uri_of
        )
        front_end = FrontEnd(
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
            language=[LanguageClient(endpoint, features, buffers, uri_of)] if features.language_features else [],
            reviewer=pending if features.reviews_later else reviewing,
            findings=found,
            ask_trust=partial(ask_trust, endpoint, features, lambda: self.core.state_folder),
            configured=self._settled,
            offers_setup=True,
            tell=lambda text: endpoint.show_message(f"pygent: {text}"),
            is_restricted=features.restricted,
            on_session_change=partial(self._session_changed, endpoint),
            on_models_change=models_changed,
            on_mcp_change=mcp_changed,
            hooks=extensions.hooks,
            tools=lambda: extensions.tools.tools,
            on_settings_change=self._settings_changed,
            open_url=partial(open_url, endpoint, features),
            speech=SpeechDisplay(begin=begin_turn, on_heard=voice.heard, on_change=voice.changed),
            in_worktree=in_worktree,
        )
        self.core = blueprint.build(front_end)
        edits, failures = RecentEdits(buffers), CompletionFailures(endpoint)
        completions = self.core.completions
        files = ContextFiles(self.workspace.shown, lambda: self.workspace.folders, completions)
        self.completion = InlineCompletion(client, buffers, files, completions, edits, failures)
        self.next_edits = NextEdits(buffers, files, completions, edits, failures)
        features_of_editor = FeatureRequests(
            review=ReviewRequests(self.review, pending),
            findings=finding_requests,
            extensions=extensions,
            next_edits=self.next_edits,
        )
        self.requests = Requests(client, self.core, voice, pending, features_of_editor)
        self.commit_messages = CommitMessages(client, self.core, self.workspace)
        self.commands = ClientCommands(
            client,
            self.core,
            self.requests.turns,
            buffers,
            self.review,
            GitCommands(findings=self.findings, commit_messages=self.commit_messages),
        )
        self.completion_registration = CompletionRegistration(endpoint, features, completions)
        self.offers = RecoveryOffers(client, self.core, self.commands)
        folder = uris.folders[0] if uris.folders else self.core.sessions.defaults.working_directory
        self._review_store = ReviewStore(self.core.state_folder, folder, pending.stored)
        self._reviews_later = features.reviews_later
        self._taking_up: asyncio.Task[None] | None = None
        if not gc.isenabled():  # the first connection: from now on, garbage of closed connections must be collected
            gc.freeze()  # imported modules stay alive, so no collection needs to visit them
            gc.enable()

    def take_up_review(self) -> None:
        """Show what waits for review since an earlier daemon, as soon as it is read."""
        if self._reviews_later and self.core.sessions.defaults.persist:
            self._taking_up = asyncio.create_task(self._pending.keep_in(self._review_store))

    def files_moved(self, moves: Iterable[tuple[Path, Path]]) -> None:
        """Note that the user has moved files or folders."""
        for source, destination in moves:
            self._pending.moved(source, destination)

    def _session_changed(self, endpoint: RpcEndpoint, session_id: str, what: str) -> None:
        endpoint.tell("pygent/session/changed", {"sessionId": session_id, "what": what})
        if what == "restored":  # closed files are restored on the disk, which not every editor watches
            self._pending.file_changed(Path("/"))

    def _settings_changed(self) -> None:
        self.completion_registration.update()

    def file_changed(self, path: Path) -> None:
        """Discard what is cached of a file or folder, and look at what is under review and was found there."""
        self.core.file_changed(path)
        self._pending.file_changed(path)
        self._found.file_changed(path)
        self.completion.file_changed(path)

    async def _settled(self) -> None:
        """Return when the client has sent its configuration, and its tools are registered."""
        await self.configuration.known()
        await self.extensions.settled()

    async def close(self) -> None:
        """Cancel every turn and wait for them within the limits of `closing`; no child process is left."""
        await self.extensions.close()
        await self.offers.close()
        await self.commands.close()
        self._pending.close()
        await self.review.close()
        self.findings.close()
        await self.commit_messages.close()
        await self.completion.close()
        await self.next_edits.close()
        await close(self.core)
        if self._taking_up is not None:
            await asyncio.wait([self._taking_up])
        await self._review_store.close()  # after the edits that were still being made
        await self.commands.end_chats()
        await self.requests.attachments.close()

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import type { Note } from "../../../src/bridge/messages.ts";
import type { Change, PendingRequest } from "../../../src/conversation/state.ts";
import type { Items, PermissionRequest, QuestionRequest } from "../../../src/protocol/protocol.ts";
import { PYTHON, REPOSITORY } from "../../paths.ts";
import { conversation, SESSION } from "../conversation_items.ts";
import { Panel } from "../panel.ts";

interface Line {
	readonly items?: Items;
	readonly asked?: { readonly method: string; readonly params: unknown };
}

/** Lines of the scenes by name, with what the daemon makes of their events. */
const SCENES: Readonly<Record<string, readonly Line[]>> = JSON.parse(
	execFileSync(PYTHON, ["-m", "tests.editors.lsp.conversation.transcripts"], {
		cwd: REPOSITORY,
		encoding: "utf8",
		maxBuffer: 2 ** 26,
	}),
);

function askOf({ method, params }: NonNullable<Line["asked"]>): PendingRequest | null {
	if (method === "pygent/permission/request") {
		const request = params as PermissionRequest;
		return { type: "permission", id: request.permissionId, request };
	}
	if (method !== "pygent/question/request") return null;
	const request = params as QuestionRequest;
	return { type: "question", id: request.questionId, request };
}

/** What the extension host sends of a recorded scene. */
function notesOf(lines: readonly Line[]): readonly Note[] {
	const changes = lines.flatMap(({ items, asked }): Change[] => {
		if (items !== undefined) return [{ type: "items", items }];
		const ask = asked === undefined ? null : askOf(asked);
		return ask === null ? [] : [{ type: "asked", ask }];
	});
	return changes.map((change) => ({ type: "change", sessionId: SESSION, change }));
}

for (const [name, lines] of Object.entries(SCENES)) {
	test(`a recorded scene is shown to its end as it comes, and nothing goes on behind it: ${name}`, async () => {
		await using panel = await Panel.open({
			conversation: conversation([], { lastSeq: 0 }),
			size: { width: 500, height: 3000 },
		});

		for (const note of notesOf(lines)) await panel.send(note);

		await panel.page.getByRole("article", { name: "End of the turn" }).last().waitFor();
		assert.deepEqual(
			{
				faults: panel.faults,
				spinning: await panel.page.locator(".conversation .codicon-loading").count(),
				growing: await panel.page.locator(".streaming").count(),
				working: await panel.page.locator(".working-row").count(),
			},
			{ faults: [], spinning: 0, growing: 0, working: 0 },
		);
		assert.match(await panel.page.getByRole("article", { name: "You" }).first().innerText(), /\w/);
	});
}

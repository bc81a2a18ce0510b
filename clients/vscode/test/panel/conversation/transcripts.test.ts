import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Note } from "../../../src/bridge/messages.ts";
import type { PendingRequest } from "../../../src/conversation/state.ts";
import type { Event, PermissionRequest, QuestionRequest } from "../../../src/protocol/protocol.ts";
import { REPOSITORY } from "../../paths.ts";
import { conversation, SESSION } from "../conversation_items.ts";
import { Panel } from "../panel.ts";

const FOLDER = join(REPOSITORY, "tests/transcripts/events");

interface Line {
	readonly events?: readonly Event[];
	readonly asked?: { readonly method: string; readonly params: unknown };
}

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
function notesOf(name: string): readonly Note[] {
	const lines = readFileSync(join(FOLDER, name), "utf8").trimEnd().split("\n");
	return lines.flatMap((text): Note[] => {
		const { events, asked }: Line = JSON.parse(text);
		const ask = asked === undefined ? null : askOf(asked);
		return [
			...(events === undefined
				? []
				: [{ type: "change", sessionId: SESSION, change: { type: "events", events } } as const]),
			...(ask === null ? [] : [{ type: "change", sessionId: SESSION, change: { type: "asked", ask } } as const]),
		];
	});
}

for (const name of readdirSync(FOLDER).filter((file) => file.endsWith(".jsonl"))) {
	test(`a recorded scene is shown to its end as it comes, and nothing goes on behind it: ${name}`, async () => {
		await using panel = await Panel.open({
			conversation: conversation([], { lastSeq: 0 }),
			size: { width: 500, height: 3000 },
		});

		for (const note of notesOf(name)) await panel.send(note);

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

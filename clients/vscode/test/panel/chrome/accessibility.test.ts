import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import type { Checkpoint, CompletionItem } from "../../../src/protocol/protocol.ts";
import { type Opening, Panel, type ThemeName } from "../panel.ts";
import { promptOf } from "../prompt.ts";
import { CONVERSATION, FILE, RUNNING, SELECTION, SESSION, USAGE, used } from "../shown_session.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const NARROW = { width: 200, height: 600 } as const;

const CHECKPOINTS: readonly Checkpoint[] = [
	{ checkpointId: "c1", turnId: "t1", label: "Round the prices", createdAt: SESSION.createdAt, files: 2 },
];

const ITEMS: readonly CompletionItem[] = [
	{ label: "/compact", insertText: "/compact ", kind: "command", detail: "Sum the conversation up" },
];

const OPENING: Opening = {
	panel: {
		session: SESSION,
		selection: "tax.py:3-4",
		agents: [
			{ name: "default", description: "Does what it is asked.", model: null, mode: null },
			{ name: "reviewer", description: "Reads changes.", model: null, mode: "plan" },
		],
		models: [
			{ name: "openai/mock", available: true },
			{ name: "gemini/pro", available: false, reason: "GEMINI_API_KEY is not set." },
		],
	},
	conversation: { ...CONVERSATION, turns: used({ ...USAGE, contextTokens: 120_000 }) },
	answers: {
		complete: () => ({ items: ITEMS, start: 0 }),
		listSessions: () => ({
			sessions: [SESSION, { ...SESSION, sessionId: "s2", interrupted: true }],
			nextCursor: "more",
			running: ["s1"],
		}),
		listCheckpoints: () => ({ checkpoints: CHECKPOINTS }),
		checkpointDiff: () => ({ files: [] }),
		send: () => {
			throw new Error("The session is in use elsewhere: fork it.");
		},
	},
};

interface Offence {
	readonly rule: string;
	readonly nodes: readonly string[];
}

async function offences(panel: Panel): Promise<readonly Offence[]> {
	const { page } = panel;
	if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(AXE);
	return await page.evaluate(async () => {
		const { axe } = window as unknown as { axe: typeof import("axe-core") };
		const { violations } = await axe.run({ exclude: [".conversation"] });
		return violations.map(({ id, nodes }) => ({
			rule: id,
			nodes: nodes.map(({ html, any }) => `${html} ${any[0]?.message ?? ""}`),
		}));
	});
}

/** What a view shows at one time or another, each with what is open at that time. */
const SCENES: Readonly<Record<string, (panel: Panel) => Promise<void>>> = {
	"a prompt with attachments": async (panel) => {
		await panel.send({ type: "attach", attachments: [FILE, SELECTION] });
		await panel.page.getByRole("button", { name: "Remove cart.py", exact: true }).waitFor();
	},
	"a prompt that was refused": async (panel) => {
		await promptOf(panel).fill("Hello");
		await promptOf(panel).press("Enter");
		await panel.page.getByRole("alert").getByText("fork it").waitFor();
	},
	"a prompt while a turn runs": async (panel) => {
		await panel.send({
			type: "conversation",
			conversation: {
				...RUNNING,
				queue: [{ turnId: "t2", prompt: "Then run the tests", held: false, attachments: [] }],
			},
		});
		await panel.page.getByRole("button", { name: "Steer" }).waitFor();
	},
	"the list of suggestions": async (panel) => {
		await promptOf(panel).fill("");
		await promptOf(panel).pressSequentially("/c");
		await panel.page.getByRole("listbox", { name: "Suggestions" }).waitFor();
	},
	"the list of models": async (panel) => {
		await panel.page.getByRole("button", { name: /^Model:/ }).click();
		await panel.page.getByRole("option", { name: "gemini" }).waitFor();
	},
	"the list of modes": async (panel) => {
		await panel.page.keyboard.press("Escape");
		await panel.page.getByRole("button", { name: /^Mode:/ }).click();
		await panel.page.getByRole("option", { name: "Trust" }).waitFor();
	},
	"the menu": async (panel) => {
		await panel.page.keyboard.press("Escape");
		await panel.page.getByRole("button", { name: "More", exact: true }).click();
		await panel.page.getByRole("menu").waitFor();
	},
	"the sessions": async (panel) => {
		await panel.page.keyboard.press("Escape");
		await panel.send({ type: "show", page: "sessions" });
		await panel.page.getByText("interrupted").waitFor();
	},
	"the checkpoints": async (panel) => {
		await panel.send({ type: "show", page: "checkpoints" });
		await panel.page.getByRole("button", { name: /^Round the prices/ }).click();
		await panel.page.getByText("No files have changed since.").waitFor();
	},
};

for (const theme of ["light", "dark", "high-contrast", "high-contrast-light"] satisfies ThemeName[]) {
	test(`everything around the conversation is for all to use: ${theme}`, async () => {
		await using panel = await Panel.open({ ...OPENING, theme });

		const found: Record<string, readonly Offence[]> = {};
		for (const [name, show] of Object.entries(SCENES)) {
			await show(panel);
			found[name] = await offences(panel);
		}

		assert.deepEqual(found, Object.fromEntries(Object.keys(SCENES).map((name) => [name, []])));
		assert.deepEqual(panel.faults, []);
	});
}

test("nothing around the conversation is wider than a view of 200 pixels", async () => {
	await using panel = await Panel.open({ ...OPENING, size: NARROW });

	const found: Record<string, readonly string[]> = {};
	for (const [name, show] of Object.entries(SCENES)) {
		await show(panel);
		found[name] = await panel.page.evaluate(() =>
			[...document.querySelectorAll(".app *")]
				.filter((element) => element.closest(".conversation, .spoken") === null)
				.filter((element) => element.checkVisibility({ visibilityProperty: true }))
				.filter((element) => element.closest(".toolbar, .header, .composer, .page, .popup") !== null)
				.filter((element) => {
					const { left, right, width } = element.getBoundingClientRect();
					return width > 0 && (left < -1 || right > innerWidth + 1);
				})
				.map((element) => element.outerHTML.slice(0, 100)),
		);
	}

	assert.deepEqual(found, Object.fromEntries(Object.keys(SCENES).map((name) => [name, []])));
});

test("the Tab key goes from the prompt through what belongs to it, and out of the view at its end", async () => {
	await using panel = await Panel.open(OPENING);
	await promptOf(panel).fill("Hello");
	const names: string[] = [];

	for (let steps = 0; steps < 8; steps += 1) {
		await panel.page.keyboard.press("Tab");
		names.push(
			await panel.page.evaluate(
				() => document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent ?? "",
			),
		);
	}

	assert.deepEqual(
		names.slice(0, 7).map((name) => name.replace(/:.*/, "")),
		["Add context…", "Model", "Send", "Mode", "Agent", "/compact", "Context"],
	);
});

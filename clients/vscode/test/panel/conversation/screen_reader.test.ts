import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import type { AxeResults } from "axe-core";
import type { Item, PendingRequest } from "../../../src/conversation/state.ts";
import {
	compacted,
	conversation,
	end,
	failure,
	hook,
	limit,
	notice,
	outcome,
	PATCH,
	permission,
	prompt,
	SESSION,
	text,
	thinking,
	tool,
	uri,
} from "../conversation_items.ts";
import { Panel, type ThemeName } from "../panel.ts";
import { turn } from "../shown_session.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const CHANGES = [{ uri: uri("src/cart.py"), kind: "edit", added: 3, removed: 2, patch: PATCH }] as const;

const ITEMS: readonly Item[] = [
	prompt({ key: "1" }),
	thinking({ key: "2" }),
	text({
		key: "3",
		text: "## Why\n\nSee `src/cart.py:10` and [docs](https://docs.test/).\n\n- [x] done\n\n> quote\n\n|a|b|\n|-|-|\n|1|2|\n\n```py\n# note\ndef f(a: int) -> str: return 'x' + 1\n```",
	}),
	tool({ key: "4", result: outcome("x"), locations: [{ uri: uri("src/cart.py") }] }),
	tool({ key: "5", kind: "edit", title: "Edit src/cart.py", readOnly: false, result: outcome("ok"), changes: CHANGES }),
	tool({
		key: "6",
		kind: "execute",
		title: "pytest",
		readOnly: false,
		status: "failed",
		result: outcome("\u001b[31m1 failed\u001b[0m", { isError: true, cached: true }),
	}),
	failure({ key: "7", errorType: "auth" }),
	failure({ key: "7w", state: "waiting", retryAt: "2026-01-02T03:05:00.000Z" }),
	limit({ key: "8" }),
	compacted({ key: "9" }),
	hook({ key: "10" }),
	notice({ key: "11", level: "warning" }),
	end({
		key: "12",
		stopReason: "max_iterations",
		filesChanged: [{ uri: uri("a.py"), kind: "edit", added: 1, removed: 1 }],
	}),
	prompt({ key: "13", turnId: "t2", steered: true }),
	tool({ key: "14", turnId: "t2", toolId: "run", kind: "execute", title: "make", readOnly: false, status: "asked" }),
];

const QUESTION: PendingRequest = {
	type: "question",
	id: "q",
	request: {
		questionId: "q",
		sessionId: SESSION,
		question: "Which?",
		choices: [{ title: "A", description: "a" }],
		allowText: true,
	},
};

const FULL = conversation(ITEMS, {
	asks: [permission("p", "run"), QUESTION],
	runningTurnId: "t2",
	turns: { t2: turn({ turnId: "t2", plan: [{ content: "Find it", status: "in_progress", priority: "high" }] }) },
});

const WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

for (const theme of ["light", "dark", "high-contrast", "high-contrast-light"] satisfies ThemeName[]) {
	test(`nothing of the conversation is against the rules of accessibility: ${theme}`, async () => {
		await using panel = await Panel.open({ theme, conversation: FULL, size: { width: 420, height: 4000 } });
		await panel.page.getByRole("button", { name: /^Plan/ }).click();
		await panel.page.getByRole("button", { name: /Thought/ }).click();
		await panel.page.locator(".permission").waitFor();

		const result = await panel.page.evaluate(
			async ({ axe, tags }) => {
				// The page's policy admits no script but its own: what a test evaluates is not asked.
				new Function(axe)();
				const { axe: engine } = window as unknown as { axe: { run(...all: unknown[]): Promise<AxeResults> } };
				return await engine.run(document.querySelector(".conversation"), { runOnly: { type: "tag", values: tags } });
			},
			{ axe: AXE, tags: WCAG },
		);

		assert.deepEqual(
			result.violations.flatMap(({ id, nodes }) =>
				nodes.map(({ html, failureSummary }) => ({ id, html, failureSummary })),
			),
			[],
		);
		assert.ok(result.passes.length > 10);
	});
}

test("at 200 pixels everything is there, and nothing but code is wider than the panel", async () => {
	await using panel = await Panel.open({ conversation: FULL, size: { width: 200, height: 4000 } });
	await panel.page.locator(".permission").waitFor();

	const cut = await panel.page.evaluate(() =>
		[...document.querySelectorAll<HTMLElement>(".conversation button, .conversation input, .conversation textarea")]
			.filter((element) => element.closest("pre, .diff") === null && element.offsetParent !== null)
			.filter((element) => {
				const { left, right } = element.getBoundingClientRect();
				return left < -1 || right > innerWidth + 1;
			})
			.map((element) => element.outerHTML),
	);

	assert.deepEqual(cut, []);
	assert.equal(await panel.page.evaluate(() => document.querySelector(".scroller")?.scrollWidth), 200);
});

test("a screen reader is told whole sentences, what tools do, and at once what waits for the user", async () => {
	const begun = [prompt({ key: "1" })];
	await using panel = await Panel.open({ conversation: conversation(begun, { runningTurnId: "t1" }) });
	await panel.page.getByRole("article", { name: "You" }).waitFor();
	const polite: string[] = [];
	await panel.page.exposeFunction("hearWords", (words: string) => polite.push(words));
	await panel.page.evaluate(() => {
		const { hearWords } = window as unknown as { hearWords(words: string): void };
		const region = document.querySelector(".conversation [aria-live=polite]");
		if (region !== null) {
			new MutationObserver(() => hearWords(region.textContent ?? "")).observe(region, {
				childList: true,
				subtree: true,
				characterData: true,
			});
		}
	});
	const show = (items: readonly Item[], asks: readonly PendingRequest[] = []) =>
		panel.send({
			type: "conversation",
			conversation: conversation([...begun, ...items], { runningTurnId: "t1", asks }),
		});
	const heard = async (words: string): Promise<void> => {
		await panel.page.locator("[aria-live]", { hasText: words }).first().waitFor({ state: "attached" });
	};

	await show([text({ key: "2", text: "It adds **twice**. The rea", streaming: true })]);
	await heard("It adds twice");
	await show([text({ key: "2", text: "It adds **twice**. The reason is a lo", streaming: true })]);
	await show([text({ key: "2", text: "It adds **twice**. The reason is a loop." })]);
	await heard("The reason is a loop.");
	const run = tool({ key: "3", toolId: "run", kind: "execute", title: "pytest", readOnly: false, status: "asked" });
	await show([text({ key: "2", text: "It adds **twice**. The reason is a loop." }), run], [permission("p", "run")]);
	await panel.page
		.locator("[aria-live=assertive]", { hasText: "Permission needed, high risk: Run a command. 4 choices." })
		.waitFor({ state: "attached" });
	await show([text({ key: "2", text: "It adds **twice**. The reason is a loop." }), { ...run, status: "failed" }]);
	await heard("Failed: pytest.");

	assert.ok(!polite.some((words) => words.includes("a lo") && !words.includes("a loop")), polite.join("\n"));
	assert.equal(polite.filter((words) => words.includes("It adds")).length, 1);
});

test("who wants less motion sees none", async () => {
	await using panel = await Panel.open({
		conversation: conversation(
			[text({ key: "1", text: "So", streaming: true }), tool({ key: "2", status: "running" })],
			{
				runningTurnId: "t1",
			},
		),
	});
	await panel.page.locator(".codicon-loading").first().waitFor();

	const moving = await panel.page.evaluate(() =>
		document
			.getAnimations()
			.filter(({ playState }) => playState === "running")
			.map(({ effect }) => (effect instanceof KeyframeEffect ? effect.target?.outerHTML : "")),
	);

	assert.deepEqual(moving, []);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { PendingRequest } from "../../../src/conversation/state.ts";
import type { QuestionRequest } from "../../../src/protocol/protocol.ts";
import { conversation, covers, outcome, PATCH, permission, prompt, SESSION, tool, uri } from "../conversation_items.ts";
import { Panel } from "../panel.ts";

const RUN = tool({ key: "1", toolId: "run", title: "pytest -q", kind: "execute", readOnly: false, status: "asked" });

function question(more: Partial<QuestionRequest> = {}): PendingRequest {
	const choices = [{ title: "SQLite", description: "a file, no server" }, { title: "PostgreSQL" }];
	const request = {
		questionId: "q",
		sessionId: SESSION,
		question: "Which **one**?",
		choices,
		allowText: true,
		...more,
	};
	return { type: "question", id: "q", request };
}

function openWith(...asks: readonly PendingRequest[]): Promise<Panel> {
	return Panel.open({ conversation: conversation([prompt({ key: "0" }), RUN], { asks, runningTurnId: "t1" }) });
}

test("a permission card stands in its call's card, with the choices of the request in their order", async () => {
	await using panel = await openWith(permission("p", "run"));
	const card = panel.page.locator(".tool").getByRole("group", { name: /High risk.*Run a command/ });

	await card.getByText("pytest -q").waitFor();
	assert.deepEqual(
		await card.locator("button.choice").evaluateAll((all) => all.map((each) => each.lastChild?.textContent)),
		["Allow once", "Allow for this session", "Always allow", "Reject"],
	);
	assert.deepEqual(await card.locator("button.choice .key").allInnerTexts(), ["o", "s", "a", "r"]);
	await card.getByText("sandboxed, no network").waitFor();

	await card.getByRole("button", { name: "Allow once" }).click();
	assert.deepEqual((await panel.called("answerPermission")).params, { id: "p", optionId: "once" });
});

test("a permission is answered by the keyboard, and only once", async () => {
	await using panel = await openWith(permission("p", "run"));
	await panel.page.locator(".permission").waitFor();

	await panel.send({ type: "focus", on: "ask" });
	await panel.page.waitForFunction(() => document.activeElement?.getAttribute("data-ask") === "p");
	await panel.page.keyboard.press("s");
	await panel.page.keyboard.press("1");
	await panel.page.keyboard.press("4");
	await panel.called("answerPermission");

	assert.equal(await panel.page.locator(".permission button.choice:enabled").count(), 0);
	assert.deepEqual(
		panel.calls.filter(({ method }) => method === "answerPermission").map(({ params }) => params),
		[{ id: "p", optionId: "session" }],
	);
});

test("Escape leads to the words that go with a rejection, and Enter sends them", async () => {
	await using panel = await openWith(permission("p", "run"));
	await panel.page.locator(".permission").focus();

	await panel.page.keyboard.press("Escape");
	await panel.page.keyboard.type("run 1 test only");
	await panel.page.keyboard.press("Enter");

	const { params } = await panel.called("answerPermission");
	assert.deepEqual(params, { id: "p", optionId: "reject", feedback: "run 1 test only" });
});

test("Escape in the field rejects without words", async () => {
	await using panel = await openWith(permission("p", "run"));
	await panel.page.locator(".permission").focus();

	await panel.page.keyboard.press("Escape");
	await panel.page.keyboard.press("Escape");

	assert.deepEqual((await panel.called("answerPermission")).params, { id: "p", optionId: "reject" });
});

test("an answer that came too late is told, and the buttons are there again", async () => {
	await using panel = await Panel.open({
		conversation: conversation([RUN], { asks: [permission("p", "run")] }),
		answers: {
			answerPermission: () => {
				throw new Error("This question is no longer open.");
			},
		},
	});

	await panel.page.getByRole("button", { name: "Allow once" }).click();

	await panel.page.getByText("This question is no longer open.").waitFor();
	assert.equal(await panel.page.locator(".permission button.choice:enabled").count(), 4);
});

test("a question that is withdrawn leaves no dead buttons, says what happened, and gives the focus to the prompt", async () => {
	await using panel = await openWith(permission("p", "run"));
	await panel.page.getByRole("button", { name: "Allow once" }).focus();

	await panel.send({ type: "change", sessionId: SESSION, change: { type: "ask_over", id: "p" } });

	await panel.page.getByText("The question is closed.").first().waitFor();
	assert.equal(await panel.page.locator(".permission").count(), 0);
	await panel.page.waitForFunction(() => document.activeElement?.getAttribute("aria-label") === "Prompt");
});

for (const how of ["with a button", "with a key"] as const) {
	test(`whoever answers ${how} is at the next question, and after the last one at the prompt`, async () => {
		const other = tool({ key: "2", toolId: "other", title: "make", kind: "execute", readOnly: false, status: "asked" });
		await using panel = await Panel.open({
			conversation: conversation([RUN, other], { asks: [permission("p", "run"), permission("q", "other")] }),
			answers: { answerPermission: ({ id }) => over(id) },
		});
		const over = async (id: string): Promise<null> => {
			await panel.send({ type: "change", sessionId: SESSION, change: { type: "ask_over", id } });
			return null;
		};
		const answer = async (id: string): Promise<void> => {
			const card = panel.page.locator(`[data-ask=${id}]`);
			if (how === "with a button") await card.getByRole("button", { name: "Allow once" }).press("Enter");
			else await card.press("1");
		};

		await answer("p");
		await panel.page.waitForFunction(() => document.activeElement?.getAttribute("data-ask") === "q");
		await answer("q");
		await panel.page.waitForFunction(() => document.activeElement?.getAttribute("aria-label") === "Prompt");
	});
}

test("what each choice applies to is said once, also with a rule by first words, which the answer then stores", async () => {
	const exact = "this exact command, in this workspace, until you revoke it.";
	const wide = "every command that starts with `npm test`, in this workspace, until you revoke it.";
	const rules = ["shell(npm test a)"];
	const options = [
		{ optionId: "once", kind: "allow_once", title: "Allow once", ...covers("o") },
		{ optionId: "always", kind: "allow_always", title: "Always allow", rules, ...covers("a", exact) },
		{ optionId: "no", kind: "reject_once", title: "Reject", ...covers("r") },
		{ optionId: "never", kind: "reject_always", title: "Always reject", rules, ...covers("n", exact) },
	] as const;
	const suggestion = { rule: "shell(npm test:*)", title: "npm test:*", appliesTo: { always: wide, never: wide } };
	const request = { options, message: "npm test a", description: "Test a", ruleSuggestions: [suggestion] };
	await using panel = await openWith(permission("p", "run", request));
	const card = panel.page.locator(".permission");
	await card.getByText("Applies to:").waitFor();
	await card.getByText("Test a", { exact: true }).waitFor();
	assert.equal(await card.locator("pre").innerText(), "npm test a");
	assert.deepEqual(await card.locator(".rule").allInnerTexts(), ["o r this call only.", `a n ${exact}`]);

	await card.press("p");
	await card.getByText(wide).waitFor();
	await card.press("a");
	const { params } = await panel.called("answerPermission");
	assert.deepEqual(params, { id: "p", optionId: "always", rules: ["shell(npm test:*)"] });
});

test("keys in an empty prompt answer what waits, and in one that is written they are text", async () => {
	await using panel = await openWith(permission("p", "run"));
	const field = panel.page.getByRole("textbox", { name: "Prompt" });
	await panel.page.locator(".permission").waitFor();

	await field.pressSequentially("a1");
	assert.equal(await field.inputValue(), "a1");
	await field.fill("");
	await field.press("Escape");
	await panel.page.waitForFunction(() => document.activeElement?.className === "feedback");
	await field.focus();
	await field.press("2");

	assert.deepEqual((await panel.called("answerPermission")).params, { id: "p", optionId: "session" });
});

for (const theme of ["light", "dark", "high-contrast", "high-contrast-light"] as const) {
	test(`a fetch, an edit and a removal do not look the same (${theme})`, async () => {
		const asks = (["low", "medium", "high"] as const).map((severity) => permission(severity, severity, { severity }));
		await using panel = await Panel.open({ theme, conversation: conversation([], { asks, runningTurnId: "t1" }) });
		const cards = panel.page.locator(".permission");
		await cards.nth(2).waitFor();

		const looks = await cards.evaluateAll((all) =>
			all.map((each) => [getComputedStyle(each).borderInlineStart, each.querySelector(".risk")?.textContent?.trim()]),
		);
		assert.equal(new Set(looks.map(([border]) => border)).size, 3);
		assert.deepEqual(
			looks.map(([, words]) => words),
			["Low risk", "Medium risk", "High risk"],
		);
	});
}

test("what the message of a request says is not said by its title, too, but to screen readers", async () => {
	const diff = [{ uri: uri("a.py"), oldText: "", newText: "", patch: PATCH }];
	const title = "Edit a.py";
	await using panel = await openWith(permission("p", "run", { diff, title, message: "Edit a.py (+3 −2)" }));
	await panel.page.getByRole("group", { name: "High risk Edit a.py (+3 −2)" }).waitFor();
	assert.equal(await panel.page.locator(".ask-message").count(), 0);

	await using other = await openWith(permission("p", "run", { title: "pytest", message: "Run pytest in /tmp" }));
	const card = other.page.getByRole("group", { name: "High risk pytest" });
	await card.locator(".ask-message").getByText("Run pytest in /tmp").waitFor();
	const { width } = (await card.locator(".ask-title > span").last().boundingBox()) ?? { width: 0 };
	assert.equal(width, 1);
});

test("Alt with the arrows leads from the prompt to what waits for an answer, and from the last row back", async () => {
	await using panel = await openWith(permission("p", "run"));
	const field = panel.page.getByRole("textbox", { name: "Prompt" });
	await panel.page.locator(".permission").waitFor();

	await field.press("Alt+ArrowUp");
	await panel.page.waitForFunction(() => document.activeElement?.getAttribute("data-ask") === "p");
	await panel.page.keyboard.press("Alt+ArrowDown");
	await panel.page.waitForFunction(() => document.activeElement?.getAttribute("aria-label") === "Prompt");
});

test("how a permission was answered stays with the call", async () => {
	const refused = { ...RUN, key: "2", status: "denied", decision: { outcome: "reject_once", by: "user" } } as const;
	await using panel = await Panel.open({
		conversation: conversation([
			{ ...RUN, status: "done", result: outcome("1 passed"), decision: { outcome: "allow_session", by: "user" } },
			{ ...refused, deniedReason: "not now" },
		]),
	});

	await panel.page.getByText("Allowed for this session by you").waitFor();
	await panel.page.getByText("Rejected by you: not now").waitFor();
});

test("a request shows the diff of what would be changed", async () => {
	const diff = [{ uri: uri("src/cart.py"), oldText: "", newText: "", patch: PATCH }];
	await using panel = await openWith(permission("p", "run", { diff, severity: "medium", title: "Edit src/cart.py" }));
	const card = panel.page.locator(".permission");

	await card.getByText("# Of each as many as were put in").waitFor();
	await card.getByText("Medium risk").waitFor();
	await card.getByRole("button", { name: /Open the diff/ }).click();

	assert.deepEqual((await panel.called("openChange")).params, { toolId: "run", uri: uri("src/cart.py") });
});

test("a permission of a subagent unfolds what the subagent does", async () => {
	const inner = { ...RUN, key: "7" };
	const outer = tool({ key: "6", title: "Task: tests", kind: "think", readOnly: false, children: [inner] });
	await using panel = await Panel.open({
		conversation: conversation([outer], { asks: [permission("p", "run", { source: "subagent tests" })] }),
	});

	await panel.page.locator(".subagent .permission").getByText("subagent tests").waitFor();
});

test("a request without a card of its call stands at the end", async () => {
	await using panel = await openWith(permission("p", "unknown"));

	await panel.page.locator(".ask-row .permission").waitFor();
});

test("a question is answered with a choice, by its key, or in the user's own words", async () => {
	await using panel = await openWith(question());
	const card = panel.page.locator(".question");
	await card.getByText("a file, no server").waitFor();
	await card.focus();
	await panel.page.keyboard.press("2");
	assert.deepEqual((await panel.called("answerQuestion")).params, { id: "q", choice: "PostgreSQL" });

	await using other = await openWith(question());
	await other.page.getByRole("textbox", { name: "Your own words" }).fill("Neither: use a file");
	await other.page.keyboard.press("Enter");
	assert.deepEqual((await other.called("answerQuestion")).params, { id: "q", text: "Neither: use a file" });
});

test("where words of the user's own are not wanted, there is no field for them", async () => {
	await using panel = await openWith(question({ allowText: false }));

	await panel.page.locator(".question").waitFor();
	assert.equal(await panel.page.locator(".question textarea").count(), 0);
});

test("a review is begun, or decided as a whole, from its line", async () => {
	const hunk = {
		hunkId: "h",
		range: { start: { line: 0, character: 0 }, end: { line: 1, character: 0 } },
		oldText: "a\n",
		newText: "b\n",
	};
	const files = [{ uri: uri("a.py"), kind: "edit", hunks: [hunk, { ...hunk, hunkId: "i" }] }] as const;
	const request = { reviewId: "r", sessionId: SESSION, turnId: "t1", toolId: "run", files };
	await using panel = await openWith({ type: "review", id: "r", request });

	const card = panel.page.getByRole("group", { name: "Review" });
	await card.getByText("Waiting for your review of 2 hunks").waitFor();
	await card.getByRole("button", { name: "Review", exact: true }).click();
	await panel.called("reviewAll");
	await card.getByRole("button", { name: "Reject all" }).click();
	await card.getByRole("button", { name: "Accept all" }).click();

	assert.deepEqual((await panel.called("decideAll")).params, { accept: false, uri: null });
	assert.deepEqual((await panel.called("decideAll", 1)).params, { accept: true, uri: null });
});

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Step } from "../../model_server.ts";
import { Workbench } from "../workbench.ts";

const TASKS = {
	version: "2.0.0",
	tasks: [
		{ label: "build", type: "shell", command: "echo made it; touch built.txt; exit 3" },
		{ label: "other", type: "shell", command: "true" },
	],
};

const LAUNCH = {
	version: "0.2.0",
	configurations: [
		{
			name: "Run cart",
			type: "node",
			request: "launch",
			program: `\${workspaceFolder}/cart.js`,
			runtimeExecutable: process.execPath,
			console: "internalConsole",
		},
	],
};

const CART = [
	"function total(prices) {",
	"  let sum = 0;",
	"  for (const price of prices) sum += price;",
	"  return sum;",
	"}",
	'console.log("total", total([1, 2, 39]));',
	"",
].join("\n");

function call(name: string, input: Readonly<Record<string, unknown>> = {}): Step {
	return { calls: [{ name: `editor__${name}`, arguments: input }] };
}

/** What the model read last, as text. */
async function lastRead({ model }: Workbench): Promise<string> {
	return JSON.stringify((await model.requests()).at(-1)?.messages.at(-1));
}

test("a task of tasks.json runs once it is allowed, and the model reads its exit code and output", async () => {
	await using workbench = await Workbench.open({ ".vscode/tasks.json": JSON.stringify(TASKS) });
	const { chat, conversation, model, folder } = workbench;
	const allow = chat.getByRole("button", { name: "Allow once" });
	await model.script(call("list_tasks"), call("run_task", { task: "build" }), { text: "It failed." });
	await workbench.openChat();
	await workbench.prompt("Build it");

	await allow.waitFor();
	assert.match(await lastRead(workbench), /build\\nother/); // the list was not asked about
	assert.equal(existsSync(join(folder, "built.txt")), false);
	await allow.click();
	await conversation.getByText("It failed.").waitFor();

	assert.equal(existsSync(join(folder, "built.txt")), true);
	assert.match(await lastRead(workbench), /made it[\s\S]*The task build ended with exit code 3/);
});

test("a terminal is opened with a command once it is allowed, and not if it is rejected", async () => {
	await using workbench = await Workbench.open({ "a.txt": "a\n" });
	const { chat, conversation, model, folder, page } = workbench;
	const command = "printf '%s' 'a \"quoted\" $HOME' > made.txt; exit 4";
	const open = call("open_terminal", { command });
	await model.script(open, { text: "As you like." }, open, { text: "It is open." });
	await workbench.openChat();

	await workbench.prompt("Open a terminal");
	await chat.getByRole("button", { name: "Reject", exact: true }).click();
	await conversation.getByText("As you like.").waitFor();
	assert.equal(await page.locator(".part.panel .xterm").count(), 0);

	await workbench.prompt("Open it all the same");
	await chat.getByRole("button", { name: "Allow once" }).click();
	await conversation.getByText("It is open.").waitFor();
	await page.locator(".terminal-tab, .single-terminal-tab").filter({ hasText: "pygent" }).first().waitFor();
	await page.locator(".explorer-folders-view .monaco-list-row").filter({ hasText: "made.txt" }).waitFor();
	assert.equal(readFileSync(join(folder, "made.txt"), "utf8"), 'a "quoted" $HOME');
});

test("a program is debugged to a breakpoint, looked at there, and continued to its end", async () => {
	await using workbench = await Workbench.open({
		".vscode/launch.json": JSON.stringify(LAUNCH),
		"cart.js": CART,
	});
	const { chat, conversation, model } = workbench;
	const breakpoints = [{ path: "cart.js", line: 4 }];
	await model.script(
		call("debug", { action: "start", configuration: "Run cart", breakpoints, wait_s: 40 }),
		call("debug", { action: "evaluate", expression: "sum * 2" }),
		call("debug", { action: "continue", wait_s: 40 }),
		call("debug", { action: "stop" }),
		{ text: "The sum is right." },
	);
	await workbench.openChat();
	await workbench.prompt("Debug it");
	await chat.getByRole("button", { name: "Allow for this session" }).click();
	await conversation.getByText("The sum is right.").waitFor();

	const messages = (await model.requests()).at(-1)?.messages ?? [];
	const read = messages.filter(({ role }) => role === "tool").map((each) => JSON.stringify(each));
	assert.match(read[0] ?? "", /The program has stopped \(breakpoint[\s\S]*total \(cart\.js:4\)[\s\S]*sum = 42/);
	assert.match(read[1] ?? "", /84/);
	assert.match(read[2] ?? "", /The program has ended[\s\S]*total 42/);
	assert.match(read[3] ?? "", /was stopped/);
});

import assert from "node:assert/strict";
import * as vscode from "vscode";
import { CommandTerminal } from "../../../src/editor/command_terminal.ts";
import { Terminals } from "../../../src/editor/terminals.ts";
import { typedFor } from "../../../src/panel/calls/terminal.ts";
import { put, uriOf } from "./agent.ts";
import { test, until } from "./harness.ts";

function ours(): readonly vscode.Terminal[] {
	return vscode.window.terminals.filter(({ name }) => name === "pygent");
}

async function textOf(name: string): Promise<string | null> {
	return await vscode.workspace.fs.readFile(uriOf(name)).then(
		(bytes) => new TextDecoder().decode(bytes),
		() => null,
	);
}

test("one line of an answer is run in a terminal of its own, and several wait there for Enter", async () => {
	const terminals = new Terminals();
	const commands = new CommandTerminal(terminals);
	await put("typed/readme.txt", "");
	const folder = uriOf("typed").fsPath;
	try {
		await vscode.env.clipboard.writeText("kept");
		await commands.type("echo run > one.txt", folder);
		await until("what one line wrote", async () => (await textOf("typed/one.txt")) === "run\n");
		const [terminal] = ours();
		assert(terminal !== undefined);
		await until("the command's end", () => terminals.commandsOf(terminal).at(-1)?.isRunning === false);
		await until("the next prompt", async () => !/one\.txt$/.test((await terminals.allOf(terminal)).output));

		await commands.type("echo first >> two.txt\necho never >> two.txt", folder);
		await commands.type("echo first >> two.txt\necho second >> two.txt", folder); // in place of those that wait
		await until("both lines at the prompt", async () => (await terminals.allOf(terminal)).output.includes("second >>"));
		assert.equal(await textOf("typed/two.txt"), null);
		assert.equal(await vscode.env.clipboard.readText(), "kept");
		terminal.sendText("");
		await until("what both lines wrote", async () => (await textOf("typed/two.txt")) === "first\nsecond\n");
		assert.equal(ours().length, 1);
	} finally {
		for (const each of ours()) each.dispose();
		terminals.dispose();
	}
});

test("a command does not become the input of one that runs", async () => {
	const terminals = new Terminals();
	const commands = new CommandTerminal(terminals);
	await put("typed/readme.txt", "");
	const folder = uriOf("typed").fsPath;
	try {
		await commands.type("cat > eaten.txt", folder);
		await until("the command that runs", () =>
			ours().some((each) => terminals.commandsOf(each).at(-1)?.isRunning === true),
		);

		await commands.type("echo run > beside.txt", folder);

		await until("what the second command wrote", async () => (await textOf("typed/beside.txt")) === "run\n");
		assert.equal(await textOf("typed/eaten.txt"), "");
		assert.equal(ours().length, 2);
	} finally {
		for (const each of ours()) each.dispose();
		terminals.dispose();
	}
});

test("what is not for a terminal, hides something or is in a folder without trust is not run", async () => {
	const bash = (code: string) => ({ code, language: "bash" });

	assert.equal(typedFor({ code: "$ make\ndone\n", language: "console" }, true), "make");
	assert.throws(() => typedFor(bash("make"), false), {
		message: "This folder is not trusted: no command is run here.",
	});
	assert.throws(() => typedFor({ code: "print()", language: "python" }, true), /python is not for a terminal/);
	assert.throws(() => typedFor(bash("ls \u001b[201~\u0003"), true), /invisible characters/);
	assert.throws(() => typedFor(bash(" \n"), true), /cannot be told/);
});

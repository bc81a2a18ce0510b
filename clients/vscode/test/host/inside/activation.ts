import assert from "node:assert/strict";
import { existsSync, globSync } from "node:fs";
import * as vscode from "vscode";
import { put, uriOf } from "./agent.ts";
import { test, until } from "./harness.ts";

/** Sockets of daemons that this window has started. */
function sockets(): readonly string[] {
	return globSync(`${process.env["XDG_RUNTIME_DIR"]}/pygent-*/*.sock`).filter((path) => existsSync(path));
}

test("the extension is active soon after the editor has started", async () => {
	const extension = vscode.extensions.getExtension("pygent.pygent-ls");
	assert(extension !== undefined);

	await until("active", () => extension.isActive);

	assert.match(vscode.version, /^1\.\d+/);
});

test("every command of the manifest is there", async () => {
	const manifest = vscode.extensions.getExtension("pygent.pygent-ls")?.packageJSON;
	const declared: readonly string[] = (manifest.contributes.commands ?? []).map(
		(each: { command: string }) => each.command,
	);

	const known = new Set(await vscode.commands.getCommands(true));

	assert.deepEqual(
		declared.filter((command) => !known.has(command)),
		[],
	);
});

test("nothing is started before something in the window needs it; a pygent: comment that is written does", async () => {
	await put("plain.py", "# pygent: rename x\nx = 1\n");
	const document = await vscode.workspace.openTextDocument(uriOf("plain.py"));
	const editor = await vscode.window.showTextDocument(document);
	await editor.edit((edit) => edit.insert(new vscode.Position(1, 0), "y = 2\n"));
	await vscode.commands.executeCommand("pygent.showLog");
	assert.deepEqual(sockets(), []);
	assert.ok(!(await vscode.commands.getCommands(true)).includes("pygent.ask"));

	await editor.edit((edit) => edit.insert(new vscode.Position(2, 0), "# pygent: and another\n"));

	await until("the daemon", () => sockets().length === 1);
	await until("its commands", async () => (await vscode.commands.getCommands(true)).includes("pygent.ask"));
	await vscode.commands.executeCommand("workbench.action.revertAndCloseActiveEditor");
});

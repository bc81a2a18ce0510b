import assert from "node:assert/strict";
import * as vscode from "vscode";
import { test, until } from "./tests.ts";

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

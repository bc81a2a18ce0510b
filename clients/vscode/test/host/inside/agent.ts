/** Turns of the real daemon, as tests that run in the extension host begin them. */
import assert from "node:assert/strict";
import * as vscode from "vscode";
import type { ModelRequest, ToolCall } from "../../model_server.ts";
import { model } from "./harness.ts";

export function uriOf(name: string): vscode.Uri {
	const [folder] = vscode.workspace.workspaceFolders ?? [];
	assert(folder !== undefined);
	return vscode.Uri.joinPath(folder.uri, name);
}

export async function put(name: string, text: string): Promise<void> {
	await vscode.workspace.fs.writeFile(uriOf(name), new TextEncoder().encode(text));
}

export async function shown(name: string): Promise<vscode.TextDocument> {
	const document = await vscode.workspace.openTextDocument(uriOf(name));
	await vscode.window.showTextDocument(document);
	return document;
}

/** Runs a turn in which the model makes these calls, one after another, and then has no more to say. */
export async function finished(prompt: string, calls: readonly ToolCall[]): Promise<readonly ModelRequest[]> {
	await model.script(...calls.map((call) => ({ calls: [call] })), { text: "Done." });
	await vscode.commands.executeCommand("pygent.ask", prompt);
	await model.wait({ answers: calls.length + 1 });
	return await model.requests();
}

/** Tools and hooks of another extension, registered as docs/editor-tools.md shows. */
import assert from "node:assert/strict";
import * as vscode from "vscode";
import type { PygentApi } from "../../../src/tools/api.ts";
import { finished } from "./agent.ts";
import { test, until } from "./harness.ts";

/** The example of the documentation, line by line. */
async function registerExample(): Promise<vscode.Disposable[]> {
	const pygent = await vscode.extensions.getExtension("pygent.pygent-ls")?.activate();
	const tool = pygent.registerTool(
		{
			name: "breakpoints",
			description: "List the user's breakpoints.",
			inputSchema: { type: "object", properties: {} },
			readOnly: true,
		},
		() => vscode.debug.breakpoints.map((each) => each.id).join("\n") || "none",
	);
	const hook = pygent.registerHook(
		{ id: "no pushes", event: "pre_tool_use", matcher: "shell" },
		({ tool_input }: { tool_input: { command: string } }) =>
			tool_input.command.includes("git push") ? { decision: "deny", reason: "People push here." } : null,
	);
	return [tool, hook];
}

test("another extension's tool is called, its hook denies, and both are gone once they are disposed", async () => {
	const registered = await registerExample();
	const breakpoint = new vscode.FunctionBreakpoint("main");
	vscode.debug.addBreakpoints([breakpoint]);
	const push = { name: "shell", arguments: { command: "git push" } };

	const [, first, second] = await finished("go", [{ name: "editor__breakpoints", arguments: {} }, push]);
	for (const each of registered) each.dispose();
	vscode.debug.removeBreakpoints([breakpoint]);
	const [, third] = await finished("go", [{ name: "editor__breakpoints", arguments: {} }]);

	assert.match(JSON.stringify(first?.messages), new RegExp(breakpoint.id));
	assert.match(JSON.stringify(second?.messages), /People push here/);
	assert.match(JSON.stringify(third?.messages), /There is no tool named 'editor__breakpoints'/);
});

test("a tool that throws is an error that the model reads, and a name is taken once", async () => {
	const api = await vscode.extensions.getExtension<PygentApi>("pygent.pygent-ls")?.activate();
	assert(api !== undefined);
	const { registerTool } = api;
	const declared = { name: "fails", description: "Fails.", inputSchema: { type: "object" }, readOnly: true };
	const run = (): never => {
		throw new Error("no such thing");
	};
	const tool = registerTool(declared, run);

	assert.throws(() => registerTool(declared, run), /already registered/);
	const [, read] = await finished("go", [{ name: "editor__fails", arguments: {} }]);
	tool.dispose();

	assert.match(JSON.stringify(read?.messages), /no such thing/);
});

test("the editor's own tools follow their setting, and cost few tokens", async () => {
	const settings = vscode.workspace.getConfiguration("pygent");
	const offered = async (): Promise<readonly { readonly function: { readonly name: string } }[]> => {
		const [request] = await finished("go", []);
		const tools = (
			request as unknown as { readonly tools: readonly { readonly function: { readonly name: string } }[] }
		).tools;
		return tools.filter((each) => each.function.name.startsWith("editor__"));
	};

	const all = await offered();
	await settings.update("editorTools", ["tasks"], vscode.ConfigurationTarget.Global);
	await until("the setting", () => settings.inspect("editorTools")?.globalValue !== undefined);
	const some = await offered();
	await settings.update("editorTools", undefined, vscode.ConfigurationTarget.Global);

	const names = all.map((each) => each.function.name);
	assert.deepEqual(names, ["editor__list_tasks", "editor__run_task", "editor__debug", "editor__open_terminal"]);
	assert.ok(JSON.stringify(all).length < 2_800, `${JSON.stringify(all).length} characters`); // about 650 tokens
	assert.deepEqual(
		some.map((each) => each.function.name),
		["editor__list_tasks", "editor__run_task"],
	);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { Workbench } from "../../workbench.ts";

const SHAPES = "export function area(width: number, height: number): number {\n\treturn width * height;\n}\n";

/** A program with one problem, which is shown once TypeScript's server has started. */
const MAIN = 'import { area } from "./shapes";\n\nconsole.log(area(2, "3"));\n';

const FILES = { "shapes.ts": SHAPES, "main.ts": MAIN, "tsconfig.json": '{ "compilerOptions": { "strict": true } }\n' };

const call = (name: string, given: Readonly<Record<string, unknown>>) => ({ calls: [{ name, arguments: given }] });

/** The results of the calls, as the model was sent them, without the marks around text from outside. */
async function results(workbench: Workbench): Promise<readonly string[]> {
	const last = (await workbench.model.requests()).at(-1);
	return (last?.messages ?? [])
		.filter(({ role }) => role === "tool")
		.map(({ content }) =>
			String(content)
				.replaceAll(/<\/?untrusted-\d+>\n?/g, "")
				.trimEnd(),
		);
}

async function opened(files: Readonly<Record<string, string>> = FILES): Promise<Workbench> {
	const workbench = await Workbench.share(files);
	await workbench.openFile("shapes.ts");
	await workbench.openFile("main.ts");
	await workbench.page.locator(".squiggly-error").first().waitFor();
	await workbench.openChat();
	await workbench.acceptEdits();
	return workbench;
}

test("an edit reports the problems that it has brought, by the editor's TypeScript", async () => {
	await using workbench = await opened();
	const { conversation, model } = workbench;
	const edit = (old: string, text: string) => call("edit_file", { path: "main.ts", old, new: text });
	await model.script(
		edit("console.log", "console.log(missing);\nconsole.log"),
		edit("console.log(missing);\n", ""),
		edit('"3"', "3"),
		{ text: "Enough." },
	);

	await workbench.prompt("Edit it");
	await conversation.getByText("Enough.").waitFor();

	const [broken = "", mended = "", right = ""] = await results(workbench);
	assert.match(broken, /1 new problem in main\.ts after this edit:\n {2}3:13 error: Cannot find name 'missing'/);
	assert.doesNotMatch(mended, /problem/);
	assert.doesNotMatch(right, /problem/);
});

test("the editor's TypeScript looks up, renames and mends code", async () => {
	await using workbench = await opened();
	const { conversation, model } = workbench;
	const look = (operation: string, given: Readonly<Record<string, unknown>>) =>
		call("code_navigation", { operation, ...given });
	await model.script(
		look("definition", { path: "main.ts", line: 3, symbol: "area" }),
		look("references", { path: "shapes.ts", line: 1, symbol: "area" }),
		look("hover", { path: "main.ts", line: 3, symbol: "area" }),
		look("document_symbols", { path: "shapes.ts" }),
		look("workspace_symbols", { symbol: "area" }),
		look("incoming_calls", { path: "shapes.ts", line: 1, symbol: "area" }),
		call("rename_symbol", { path: "shapes.ts", line: 1, symbol: "area", new_name: "surface" }),
		call("code_actions", { path: "shapes.ts", line: 1 }),
		{ text: "Enough." },
	);

	await workbench.prompt("Look at it");
	await conversation.getByText("Enough.").waitFor();

	const [definition, references, hover, symbols, found, calls, renamed, actions] = await results(workbench);
	assert.equal(definition, "shapes.ts:1: export function area(width: number, height: number): number {");
	assert.match(references ?? "", /^main\.ts:1: import/);
	assert.match(references ?? "", /main\.ts:3: console\.log\(area\(2, "3"\)\);/);
	assert.match(hover ?? "", /area\(width: number, height: number\): number/);
	assert.match(symbols ?? "", /^1: function area/);
	assert.match(found ?? "", /shapes\.ts:1: function area/);
	assert.match(calls ?? "", /called at main\.ts:3/);
	assert.match(renamed ?? "", /^Renamed area to surface in 2 files:/);
	assert.match(actions ?? "", /Move to a new file|Convert|Generate/);
	await workbench.lines.filter({ hasText: "console.log(surface(2," }).waitFor();
});

test("an edit is formatted by the editor's TypeScript before it is reviewed, if the file is formatted on save", async () => {
	const settings = '{ "editor.lineNumbers": "off", "[typescript]": { "editor.formatOnSave": true } }\n';
	await using workbench = await opened({ ...FILES, ".vscode/settings.json": settings });
	const { conversation, model, page } = workbench;
	await page.locator(".monaco-editor .line-numbers").first().waitFor({ state: "hidden" }); // the settings are read
	const widths = { path: "shapes.ts", old: "width * height;", new: "width*height  * 2;" };
	await model.script(
		call("edit_file", widths),
		call("create_file", { path: "new.ts", content: "export  const  one=1\n" }),
		call("read_file", { path: "new.ts" }),
		{ text: "Enough." },
	);

	await workbench.prompt("Edit it");
	await conversation.getByText("Enough.").waitFor();

	const [edited = "", created = "", read = ""] = await results(workbench);
	assert.match(edited, /The formatter has changed your text of shapes\.ts:/);
	assert.match(edited, /\+\treturn width \* height \* 2;/);
	assert.match(created, /The formatter has changed your text of new\.ts:/);
	assert.match(read, /export const one = 1/);
	await workbench.openFile("shapes.ts");
	await workbench.lines.filter({ hasText: "return width * height * 2;" }).waitFor();
});

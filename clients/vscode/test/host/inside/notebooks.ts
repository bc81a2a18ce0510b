import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import * as vscode from "vscode";
import type { ApplyWorkspaceEditParams } from "vscode-languageclient/node";
import { applyEdit } from "../../../src/daemon/apply_edit.ts";
import type { NotebookEdit } from "../../../src/protocol/protocol.ts";
import type { ModelRequest, ToolCall } from "../../model_server.ts";
import { finished, put, uriOf } from "./agent.ts";
import { test, until } from "./harness.ts";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const OUTPUTS = [
	{ name: "stdout", output_type: "stream", text: ["3.14\n", "2.71\n"] },
	{ name: "stderr", output_type: "stream", text: ["careful\n"] },
	{ ename: "ValueError", evalue: "no", output_type: "error", traceback: ["line 1", "line 2"] },
	{
		data: { "application/json": { a: 1 }, "image/png": PIXEL, "text/plain": ["<Figure>"] },
		execution_count: 7,
		metadata: { mine: true },
		output_type: "execute_result",
	},
];

/** As Jupyter writes it: text, code with outputs, code with metadata, and raw text. */
const CELLS = [
	{ cell_type: "markdown", id: "a", metadata: {}, source: ["# Title"] },
	{
		cell_type: "code",
		execution_count: 7,
		id: "b",
		metadata: {},
		outputs: OUTPUTS,
		source: ["import math\n", "math.pi"],
	},
	{ cell_type: "code", execution_count: null, id: "c", metadata: { tags: ["mine"] }, outputs: [], source: ["x = 1"] },
	{ cell_type: "raw", id: "d", metadata: {}, source: ["raw"] },
];

const NOTEBOOK = {
	cells: CELLS,
	metadata: { language_info: { name: "python" }, mine: 1 },
	nbformat: 4,
	nbformat_minor: 5,
};

const TEXT = `${JSON.stringify(NOTEBOOK, null, 1)}\n`;

async function opened(name: string): Promise<vscode.NotebookDocument> {
	await put(name, TEXT);
	const notebook = await vscode.workspace.openNotebookDocument(uriOf(name));
	await vscode.window.showNotebookDocument(notebook);
	return notebook;
}

async function typed(notebook: vscode.NotebookDocument, index: number, text: string): Promise<void> {
	const { document } = notebook.cellAt(index);
	const edit = new vscode.WorkspaceEdit();
	edit.replace(document.uri, new vscode.Range(0, 0, document.lineCount, 0), text);
	assert(await vscode.workspace.applyEdit(edit));
}

function sourcesOf(notebook: vscode.NotebookDocument): readonly string[] {
	return notebook.getCells().map(({ document }) => document.getText());
}

async function onDisk(notebook: vscode.NotebookDocument): Promise<typeof NOTEBOOK> {
	return JSON.parse(await readFile(notebook.uri.fsPath, "utf8"));
}

function edit(name: string, given: Readonly<Record<string, string>>): ToolCall {
	return { name: "edit_notebook", arguments: { path: name, ...given } };
}

function read(name: string): ToolCall {
	return { name: "read_file", arguments: { path: name } };
}

/** What the tools returned, the last turn's last. */
function resultsIn(requests: readonly ModelRequest[]): readonly string[] {
	const messages = requests.at(-1)?.messages ?? [];
	return messages.filter(({ role }) => role === "tool").map(({ content }) => String(content));
}

test("the agent reads what is typed in cells, edits it there, and each edit is one step of undo", async () => {
	const notebook = await opened("typed.ipynb");
	await typed(notebook, 2, "x = 2  # typed");
	const insertion = new vscode.WorkspaceEdit();
	const code = new vscode.NotebookCellData(vscode.NotebookCellKind.Code, "y = x", "python");
	insertion.set(notebook.uri, [vscode.NotebookEdit.insertCells(4, [code])]);
	assert(await vscode.workspace.applyEdit(insertion));
	await until("the id that the editor gives the new cell", () => notebook.cellAt(4).metadata["id"]);
	const [cellC] = notebook.getCells().slice(2);

	const requests = await finished("edit it", [
		read("typed.ipynb"),
		edit("typed.ipynb", { cell: "c", source: "x = 3" }),
		edit("typed.ipynb", { action: "insert", cell: "c", source: "z = 4" }),
	]);

	const [shown, replaced, inserted] = resultsIn(requests);
	assert.match(shown ?? "", /x = 2 {2}# typed.*cell 5 · code.*y = x/su);
	assert.match(shown ?? "", /id b · run 7.*3\.14/su);
	assert.match(replaced ?? "", /Edited typed\.ipynb: replaced cell c/u);
	assert.match(inserted ?? "", /Edited typed\.ipynb: inserted a cell after cell c/u);
	const after = ["# Title", "import math\nmath.pi", "x = 3", "z = 4", "raw", "y = x"];
	assert.deepEqual(sourcesOf(notebook), after);
	assert.equal(notebook.cellAt(2), cellC, "the edited cell is still the same");
	assert.equal(notebook.isDirty, true);
	assert.equal(await readFile(notebook.uri.fsPath, "utf8"), TEXT);

	await vscode.window.showNotebookDocument(notebook);
	await vscode.commands.executeCommand("undo");
	assert.deepEqual(sourcesOf(notebook), after.toSpliced(3, 1));
	await vscode.commands.executeCommand("redo");
	assert.deepEqual(sourcesOf(notebook), after);
	const selections = [new vscode.NotebookRange(2, 3)];
	await vscode.window.showNotebookDocument(notebook, { selections });
	await vscode.commands.executeCommand("notebook.cell.edit");
	await until("the cursor to be in the cell", () => vscode.window.activeTextEditor?.document === cellC?.document);
	await vscode.commands.executeCommand("undo"); // what was typed in a cell is undone in the cell
	assert.deepEqual(sourcesOf(notebook), after.with(2, "x = 2  # typed"));
	await vscode.commands.executeCommand("redo");
	assert.deepEqual(sourcesOf(notebook), after);

	assert(await notebook.save());
	const saved = await onDisk(notebook);
	assert.deepEqual(
		saved.cells.map(({ source }) => source.join("")),
		after,
	);
	assert.deepEqual(saved.cells[1], CELLS[1]);
	assert.deepEqual(saved.metadata, NOTEBOOK.metadata);
	const again = await finished("edit on", [edit("typed.ipynb", { cell: "c", source: "x = 5" })]);
	assert.match(resultsIn(again).at(-1) ?? "", /Edited typed\.ipynb: replaced cell c/u);
});

test("an edit of a cell that the user has changed since it was read is refused", async () => {
	const notebook = await opened("stale.ipynb");
	await finished("read it", [read("stale.ipynb")]);
	await typed(notebook, 2, "x = 'mine'");

	const requests = await finished("edit it", [edit("stale.ipynb", { cell: "c", source: "x = 3" })]);

	assert.match(resultsIn(requests).at(-1) ?? "", /changed/u);
	assert.equal(sourcesOf(notebook)[2], "x = 'mine'");
	assert.equal(await readFile(notebook.uri.fsPath, "utf8"), TEXT);
});

test("an undo of the agent's work is made in the open notebook, with the outputs of a deleted cell", async () => {
	const notebook = await opened("undone.ipynb");
	await typed(notebook, 0, "# Typed");
	await finished("edit it", [
		read("undone.ipynb"),
		edit("undone.ipynb", { action: "delete", cell: "b" }),
		edit("undone.ipynb", { cell: "c", source: "words", cell_type: "markdown" }),
		edit("undone.ipynb", { cell: "d", source: "raw too" }),
	]);
	assert.deepEqual(sourcesOf(notebook), ["# Typed", "words", "raw too"]);

	await vscode.commands.executeCommand("pygent.ask", "/undo");

	await until("the cells to be back", () => notebook.cellCount === 4 && sourcesOf(notebook)[3] === "raw");
	assert.deepEqual(sourcesOf(notebook), ["# Typed", "import math\nmath.pi", "x = 1", "raw"]);
	assert.equal(await readFile(notebook.uri.fsPath, "utf8"), TEXT);
	assert(await notebook.save());
	const { cells } = await onDisk(notebook); // VS Code adds the language of a raw cell that was edited
	assert.deepEqual(cells.slice(0, 3), [{ ...CELLS[0], source: ["# Typed"] }, CELLS[1], CELLS[2]]);
});

test("what the agent changed in cells waits for review, is shown, and is rejected in the open notebook", async () => {
	const notebook = await opened("reviewed.ipynb");
	await finished("edit it", [
		read("reviewed.ipynb"),
		edit("reviewed.ipynb", { cell: "c", source: "x = 3" }),
		edit("reviewed.ipynb", { action: "delete", cell: "b" }),
	]);
	assert.deepEqual(sourcesOf(notebook), ["# Title", "x = 3", "raw"]);

	await vscode.commands.executeCommand("pygent.review.openDiff", notebook.uri);
	const sides = await until("both sides of the diff", () => {
		const found = vscode.workspace.textDocuments.filter(({ uri }) => uri.scheme === "pygent-original");
		return found.length === 2 && found;
	});
	const texts = sides.toSorted((one, other) => one.uri.fragment.length - other.uri.fragment.length);
	assert.equal(texts[0]?.getText(), TEXT);
	const { cells } = JSON.parse(texts[1]?.getText() ?? "") as typeof NOTEBOOK;
	assert.deepEqual(cells, [CELLS[0], { ...CELLS[2], source: ["x = 3"] }, CELLS[3]]);

	await vscode.commands.executeCommand("pygent.review.rejectFile", notebook.uri);
	assert.deepEqual(sourcesOf(notebook), ["# Title", "import math\nmath.pi", "x = 1", "raw"]);
	assert.equal(await readFile(notebook.uri.fsPath, "utf8"), TEXT);
	const files = vscode.workspace.textDocuments.map(({ uri }) => uri.toString());
	assert(!files.includes(notebook.uri.toString()), "no editor has the notebook as text");
});

test("an edit of several cells is one, and none of it is made if a cell has changed", async () => {
	const notebook = await opened("several.ipynb");
	const cells = notebook
		.getCells()
		.map(({ document }) => ({ uri: document.uri.toString(), version: document.version }));
	const [, , cellC] = cells;
	assert(cellC !== undefined);
	const change: NotebookEdit = {
		kind: "notebook",
		uri: notebook.uri.toString(),
		cells,
		splices: [
			{ start: 0, deleteCount: 1, cells: [{ cell_type: "code", id: "e", metadata: {}, outputs: [], source: "first" }] },
			{ start: 3, deleteCount: 1, cells: [] },
		],
	};
	const edits = [{ range: { start: { line: 0, character: 4 }, end: { line: 0, character: 5 } }, newText: "3" }];
	const created = { kind: "create", uri: uriOf("several.txt").toString() };
	const documentChanges = [created, change, { textDocument: cellC, edits }];
	const refuse = () => Promise.reject(new Error("LSP has no edits of cells"));
	const given = { edit: { documentChanges } } as ApplyWorkspaceEditParams;

	assert.deepEqual(await applyEdit(given, refuse), { applied: true });
	const after = ["first", "import math\nmath.pi", "x = 3"];
	assert.deepEqual(sourcesOf(notebook), after);
	assert.equal(notebook.cellAt(0).document.languageId, "python");
	assert.equal((await vscode.workspace.fs.stat(uriOf("several.txt"))).size, 0);
	await vscode.workspace.fs.delete(uriOf("several.txt"));

	const again = await applyEdit(given, refuse);
	assert.equal("applied" in again && again.applied, false);
	assert.deepEqual(sourcesOf(notebook), after);
	await assert.rejects(async () => await vscode.workspace.fs.stat(uriOf("several.txt")));
});

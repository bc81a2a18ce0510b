/** What waits for review while its files change by other hands, and while other decisions are made. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import * as vscode from "vscode";
import { applyEdit } from "../../../src/daemon/apply_edit.ts";
import { finished, put, uriOf } from "./agent.ts";
import { model, test, until } from "./harness.ts";

const BEFORE = "import math\n\ntotal = 0\n\n\ndef area(r):\n    return 3 * r * r\n\n\nprint(total)\n";
const AFTER = "import math\n\ntotal = 1\n\n\ndef area(r):\n    return math.pi * r * r\n\n\nprint(total)\n";

const edits = (path: string) => [
	{ name: "edit_file", arguments: { path, old: "total = 0", new: "total = 1" } },
	{ name: "edit_file", arguments: { path, old: "3 * r * r", new: "math.pi * r * r" } },
];

/** Open as long as its tab is: the API's own way of opening keeps a document for minutes. */
async function shown(name: string): Promise<vscode.TextDocument> {
	await vscode.commands.executeCommand("vscode.open", uriOf(name), { preview: false });
	return await until("the document", () =>
		vscode.workspace.textDocuments.find(({ uri }) => uri.toString() === uriOf(name).toString()),
	);
}

async function lensesOf(document: vscode.TextDocument, title: string): Promise<readonly vscode.CodeLens[]> {
	const all = await vscode.commands.executeCommand<vscode.CodeLens[]>("vscode.executeCodeLensProvider", document.uri);
	return all.filter(({ command }) => command?.title.replace("\u00a0", " ").endsWith(title));
}

async function waits(document: vscode.TextDocument, hunks: number): Promise<void> {
	await until(`${hunks} changes of ${document.fileName}`, async () => {
		return (await lensesOf(document, " Accept")).length === hunks;
	});
}

/** Two hunks that wait for review, in a document that is not saved. */
async function edited(name: string): Promise<vscode.TextDocument> {
	await put(name, BEFORE);
	const document = await shown(name);
	await finished("change it", edits(name));
	await until("the edits", () => document.getText() === AFTER);
	await waits(document, 2);
	return document;
}

async function run(lens: vscode.CodeLens | undefined): Promise<void> {
	assert(lens?.command !== undefined);
	await vscode.commands.executeCommand(lens.command.command, ...(lens.command.arguments ?? []));
}

const decide = (command: string, name: string) =>
	vscode.commands.executeCommand(`pygent.review.${command}`, uriOf(name));

const digestOf = (text: string) => createHash("sha256").update(text).digest("hex");

const textOf = async (name: string) => (await shown(name)).getText();

async function closed(document: vscode.TextDocument): Promise<void> {
	const { uri } = document;
	await until("the document to be closed", async () => {
		await vscode.commands.executeCommand("workbench.action.closeAllEditors");
		return !vscode.workspace.textDocuments.some((each) => each.uri.toString() === uri.toString());
	});
}

test("two edits of one answer wait for review, both", async () => {
	await put("together.py", BEFORE);
	const document = await shown("together.py");
	await model.script({ calls: edits("together.py") }, { text: "Done." });
	await vscode.commands.executeCommand("pygent.ask", "change it");
	await model.wait({ answers: 2 });

	await waits(document, 2);

	await decide("rejectFile", "together.py");
	assert.equal(document.getText(), BEFORE);
});

test("hunks that are decided at once are decided each", async () => {
	const document = await edited("quick.py");
	const [first] = await lensesOf(document, " Reject");
	const [, second] = await lensesOf(document, " Accept");

	await Promise.all([run(first), run(second)]);

	assert.equal(document.getText(), AFTER.replace("total = 1", "total = 0"));
	assert.deepEqual(await lensesOf(document, " Accept"), []);
});

test("a file that another program changed since keeps that, and loses what is rejected alone", async () => {
	const document = await edited("elsewhere.py");
	await document.save();
	await closed(document);
	const path = uriOf("elsewhere.py").fsPath;
	await writeFile(path, `# by another program\n# two lines of it\n${await readFile(path, "utf8")}`);

	await decide("rejectFile", "elsewhere.py");

	const text = `# by another program\n# two lines of it\n${BEFORE}`;
	assert.equal(await textOf("elsewhere.py"), text);
	assert.equal(await (await shown("elsewhere.py")).save(), true);
	assert.equal(await readFile(path, "utf8"), text);
});

test("a rejection in an open file keeps what another program has written at that moment", async () => {
	const document = await edited("moment.py");
	await document.save();
	const path = uriOf("moment.py").fsPath;
	await writeFile(path, `# by another program\n${await readFile(path, "utf8")}`);

	await decide("rejectFile", "moment.py");

	assert.equal(document.getText(), `# by another program\n${BEFORE}`);
	assert.equal(await document.save(), true);
	assert.equal(await readFile(path, "utf8"), `# by another program\n${BEFORE}`);
});

test("an edit of a closed file that another program changes at that moment is refused", async () => {
	await put("closed.py", "a = 1\nb = 2\n");
	const uri = uriOf("closed.py");
	const textDocument = { uri: uri.toString(), version: null, digest: digestOf("a = 1\nb = 2\n") };
	const edit = { range: { start: { line: 1, character: 4 }, end: { line: 1, character: 5 } }, newText: "3" };
	const versions: (number | null)[] = [];
	const apply = () =>
		applyEdit({ edit: { documentChanges: [{ textDocument, edits: [edit] }] } }, async (params) => {
			const [change] = params.edit.documentChanges ?? [];
			versions.push(change !== undefined && "textDocument" in change ? change.textDocument.version : null);
			return { applied: true };
		});

	await writeFile(uri.fsPath, "# by another program\na = 1\nb = 2\n");
	const refused = await apply();
	await writeFile(uri.fsPath, "a = 1\nb = 2\n");
	const made = await apply();

	assert.deepEqual(refused, { applied: false, failureReason: "another program has changed the file since" });
	assert.deepEqual(made, { applied: true });
	const document = await vscode.workspace.openTextDocument(uri);
	assert.deepEqual(versions, [document.version]);
});

test("a new file to which another program has added is not deleted by a rejection", async () => {
	const calls = [{ name: "create_file", arguments: { path: "grown.py", content: "y = 2\n" } }];
	await finished("make one", calls);
	const path = uriOf("grown.py").fsPath;
	await until("the new file", async () => (await textOf("grown.py")) === "y = 2\n");
	await writeFile(path, "y = 2\nz = 3\n");

	await Promise.allSettled([decide("rejectFile", "grown.py")]);

	assert.equal(await readFile(path, "utf8"), "y = 2\nz = 3\n");
	await decide("acceptFile", "grown.py");
});

test("a file that was closed without saving waits for no review", async () => {
	const document = await edited("unsaved.py");
	await shown("unsaved.py");
	await vscode.commands.executeCommand("workbench.action.revertAndCloseActiveEditor");
	await closed(document);

	await until("no change to go to", async () => {
		await vscode.commands.executeCommand("workbench.action.closeAllEditors");
		await vscode.commands.executeCommand("pygent.review.next");
		return vscode.window.activeTextEditor === undefined;
	});
});

test("a file that the user renames is judged under its new name", async () => {
	const document = await edited("named.py");
	await document.save();
	const edit = new vscode.WorkspaceEdit();
	edit.renameFile(uriOf("named.py"), uriOf("renamed.py"));
	assert(await vscode.workspace.applyEdit(edit));

	await waits(await shown("renamed.py"), 2);

	await decide("rejectFile", "renamed.py");
	assert.equal(await textOf("renamed.py"), BEFORE);
});

test("a file that the agent moves is no new file: its lines are judged at their new place", async () => {
	await put("whole.py", BEFORE);
	const document = await edited("moved.py");
	await document.save();

	await finished("move them", [
		{ name: "move_file", arguments: { source: "moved.py", destination: "there.py" } },
		{ name: "move_file", arguments: { source: "whole.py", destination: "thither.py" } },
	]);
	await waits(await shown("there.py"), 2);
	await waits(await shown("thither.py"), 0);
	await vscode.commands.executeCommand("pygent.review.rejectAll");

	assert.equal(await textOf("there.py"), BEFORE);
	assert.equal(await textOf("thither.py"), BEFORE);
});

test("a file that the agent changed and then deleted comes back as it was before both", async () => {
	const document = await edited("gone.py");
	await document.save();
	await finished("delete it", [{ name: "delete_file", arguments: { path: "gone.py" } }]);
	const isThere = () =>
		vscode.workspace.fs.stat(uriOf("gone.py")).then(
			() => true,
			() => false,
		);
	await until("it to be gone", async () => !(await isThere()));

	await until("it to come back", async () => {
		await decide("rejectFile", "gone.py");
		return await isThere();
	});

	assert.equal(await textOf("gone.py"), BEFORE);
});

test("what the user deletes waits for no review", async () => {
	await put("folder/inside.py", BEFORE);
	const document = await edited("folder/inside.py");
	await document.save();
	const edit = new vscode.WorkspaceEdit();
	edit.deleteFile(uriOf("folder"), { recursive: true });
	assert(await vscode.workspace.applyEdit(edit));

	await vscode.commands.executeCommand("pygent.review.rejectAll");

	await assert.rejects(async () => await vscode.workspace.fs.stat(uriOf("folder/inside.py")));
});

test("a state that the user goes back to is no change to judge", async () => {
	await put("back.py", BEFORE);
	const document = await shown("back.py");
	await finished("change both", edits("back.py"));
	await waits(document, 2);
	await run((await lensesOf(document, " Accept"))[0]);
	await waits(document, 1);

	await until("the undo", async () => {
		await vscode.commands.executeCommand("pygent.undoLastTurn");
		return document.getText() === BEFORE;
	});

	await waits(document, 0);
});

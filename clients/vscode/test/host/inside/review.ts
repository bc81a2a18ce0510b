import assert from "node:assert/strict";
import { chmod, lstat, readdir, readFile, readlink, symlink, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import * as vscode from "vscode";
import { shown as document, finished, put, uriOf } from "./agent.ts";
import { model, test, until } from "./harness.ts";

const BEFORE = "import math\n\ntotal = 0\n\n\ndef area(r):\n    return 3 * r * r\n\n\nprint(total)\n";
const AFTER = "import math\n\ntotal = 1\n\n\ndef area(r):\n    return math.pi * r * r\n\n\nprint(total)\n";

/** Two hunks of one file, by one call, allowed beforehand. */
async function edited(name: string): Promise<vscode.TextDocument> {
	await put(name, BEFORE);
	const shown = await document(name);
	await finished("change it", [
		{ name: "edit_file", arguments: { path: name, old: "total = 0", new: "total = 1" } },
		{ name: "edit_file", arguments: { path: name, old: "3 * r * r", new: "math.pi * r * r" } },
	]);
	assert.equal(shown.getText(), AFTER);
	await until("both changes to wait for review", async () => (await lensesOf(shown, "Accept")).length === 2);
	return shown;
}

async function lensesOf(of: vscode.TextDocument, title: string): Promise<readonly vscode.CodeLens[]> {
	const all = await vscode.commands.executeCommand<vscode.CodeLens[]>("vscode.executeCodeLensProvider", of.uri);
	return all.filter(({ command }) => command?.title.replace(/^\$\([a-z]+\)\s/u, "") === title);
}

async function waits(of: vscode.TextDocument, hunks: number): Promise<void> {
	await until(`${hunks} changes to wait`, async () => (await lensesOf(of, "Accept")).length === hunks);
}

async function choose(of: vscode.TextDocument, title: string, index = 0): Promise<void> {
	const command = (await lensesOf(of, title))[index]?.command;
	assert(command !== undefined, `a lens ${title}`);
	await vscode.commands.executeCommand(command.command, ...(command.arguments ?? []));
}

test("an accepted change stays, a rejected one goes, and the model reads which", async () => {
	const shown = await edited("reviewed.py");

	await choose(shown, "Accept", 0);
	await choose(shown, "Reject", 0);

	assert.equal(shown.getText(), AFTER.replace("math.pi", "3"));
	assert.deepEqual(await lensesOf(shown, "Accept"), []);
	await model.script({ text: "Done." });
	await vscode.commands.executeCommand("pygent.ask", "go on");
	await model.wait({ answers: 1 });
	const said = JSON.stringify((await model.requests()).at(-1)?.messages);
	assert.match(said, /took some back/);
	assert.match(said, /\+ {4}return math\.pi \* r \* r/);
	assert.doesNotMatch(said, /\+total = 1/);
});

/** What the model reads in the next turn. */
async function read(): Promise<string> {
	await model.script({ text: "Done." });
	await vscode.commands.executeCommand("pygent.ask", "go on");
	await model.wait({ answers: 1 });
	return JSON.stringify((await model.requests()).at(-1)?.messages.slice(-3));
}

test("a rejection is one step of undo: undone, its changes wait again, and the model hears nothing", async () => {
	const shown = await edited("undone.py");

	await choose(shown, "Reject file");
	assert.equal(shown.getText(), BEFORE);
	await vscode.window.showTextDocument(shown);
	await vscode.commands.executeCommand("undo");

	assert.equal(shown.getText(), AFTER);
	await waits(shown, 2);
	assert.doesNotMatch(await read(), /took some back/);

	await vscode.commands.executeCommand("redo");
	assert.equal(shown.getText(), BEFORE);
	await waits(shown, 0);
	assert.match(await read(), /took some back.*\+total = 1/);

	await vscode.commands.executeCommand("undo");
	await waits(shown, 2);
	assert.match(await read(), /I undid the rejection of these edits.*\+total = 1/);
	await vscode.commands.executeCommand("pygent.review.acceptAll");
});

test("each of two rejections is undone by itself, whatever was accepted between them", async () => {
	const shown = await edited("twice.py");
	await choose(shown, "Reject", 0);
	await choose(shown, "Accept", 0);
	await vscode.window.showTextDocument(shown);

	await vscode.commands.executeCommand("undo");

	assert.equal(shown.getText(), AFTER);
	await waits(shown, 1);
	await choose(shown, "Reject");
	assert.equal(shown.getText(), AFTER.replace("total = 1", "total = 0"));
});

test("other line endings under review are no change, and every change can still be judged", async () => {
	const shown = await edited("endings.py");
	const editor = await vscode.window.showTextDocument(shown);
	await editor.edit((edit) => edit.setEndOfLine(vscode.EndOfLine.CRLF));
	await editor.edit((edit) => edit.insert(new vscode.Position(1, 0), "# mine\n"));
	await shown.save();
	await until("both changes to be shown", async () => (await lensesOf(shown, "Accept")).length === 2);

	const { fsPath } = shown.uri;
	await writeFile(fsPath, (await readFile(fsPath, "utf8")).replaceAll("\r\n", "\n"));
	await until("the editor to load the file", () => shown.eol === vscode.EndOfLine.LF);
	await until("both changes to be shown", async () => (await lensesOf(shown, "Accept")).length === 2);
	await editor.edit((edit) => edit.setEndOfLine(vscode.EndOfLine.CRLF));
	await choose(shown, "Accept", 0);
	await choose(shown, "Reject", 0);

	assert.deepEqual(await lensesOf(shown, "Accept"), []);
	const judged = AFTER.replace("math.pi", "3").replace("math\n", "math\n# mine\n");
	assert.equal(shown.getText(), judged.replaceAll("\n", "\r\n"));
});

test("deleted files come back byte for byte with their modes, whatever they hold, and a link as a link", async () => {
	const contents = {
		"program.bin": Uint8Array.from([0x7f, 0x45, 0x4c, 0x46, 0x0d, 0x0a, 0, 0xff, 0xfe, 0x0d, 0x0a, 0x80]),
		"latin.txt": Uint8Array.from(Buffer.from("caf\u00e9\r\nna\u00efve\r\n", "latin1")),
		"marked.txt": Uint8Array.from(Buffer.from("\uFEFFone\r\ntwo\nthree", "utf8")),
		"empty.txt": Uint8Array.of(),
	};
	const all = Object.entries(contents);
	const link = uriOf("link.txt").fsPath;
	for (const [name, bytes] of all) {
		await writeFile(uriOf(name).fsPath, bytes);
		await chmod(uriOf(name).fsPath, 0o751);
	}
	await symlink("marked.txt", link);
	const names = ["link.txt", ...Object.keys(contents)];
	const found = async () => (await readdir(dirname(link))).filter((name) => names.includes(name)).length;
	const calls = names.map((path) => ({ name: "delete_file", arguments: { path } }));
	await model.script({ calls }, { text: "Done." });
	await vscode.commands.executeCommand("pygent.ask", "delete them");
	await model.wait({ answers: 2 });
	await until("all of them to be gone", async () => (await found()) === 0);

	await until("all of them to come back", async () => {
		await vscode.commands.executeCommand("pygent.review.rejectAll");
		return (await found()) === names.length;
	});

	for (const [name, bytes] of all) {
		assert.deepEqual(Uint8Array.from(await readFile(uriOf(name).fsPath)), bytes, name);
		assert.equal((await lstat(uriOf(name).fsPath)).mode & 0o7777, 0o751, name);
	}
	assert.equal(await readlink(link), "marked.txt");
	assert.match(await read(), /took some back.*program\.bin @@ -1,0 \+1,0 @@/);
});

test("each edit of the agent is one step of the editor's undo", async () => {
	const shown = await edited("steps.py");
	await vscode.window.showTextDocument(shown);

	await vscode.commands.executeCommand("undo");
	assert.equal(shown.getText(), AFTER.replace("math.pi", "3"));
	await vscode.commands.executeCommand("undo");

	assert.equal(shown.getText(), BEFORE);
	await until("nothing to wait for review", async () => (await lensesOf(shown, "Accept")).length === 0);
});

test("what the user types meanwhile survives a rejection of everything", async () => {
	const shown = await edited("typed.py");
	const editor = await vscode.window.showTextDocument(shown);
	await editor.edit((edit) => edit.insert(new vscode.Position(0, 0), "# mine\n"));
	await editor.edit((edit) => edit.insert(new vscode.Position(shown.lineCount - 1, 0), "# mine, too\n"));

	await choose(shown, "Reject file");

	assert.equal(shown.getText(), `# mine\n${BEFORE}# mine, too\n`);
});

test("a hunk that changed since it was shown is not decided by what was shown", async () => {
	const shown = await edited("changed.py");
	const [lens] = await lensesOf(shown, "Reject");
	const editor = await vscode.window.showTextDocument(shown);
	const line = shown.getText().split("\n").indexOf("total = 1");
	await editor.edit((edit) => edit.replace(new vscode.Range(line, 0, line, 9), "total = 2"));

	await vscode.commands.executeCommand(lens?.command?.command ?? "", ...(lens?.command?.arguments ?? []));

	assert.match(shown.getText(), /total = 2/);
});

test("all changes are shown in one editor, against the texts as they were", async () => {
	const shown = await edited("shown.py");

	await vscode.commands.executeCommand("pygent.review.openAll");

	const original = await until("the text as it was", () =>
		vscode.workspace.textDocuments.find(({ uri }) => uri.scheme === "pygent-original" && uri.path.endsWith("shown.py")),
	);
	assert.equal(original.getText(), BEFORE);
	await vscode.commands.executeCommand("workbench.action.closeAllEditors");
	await vscode.window.showTextDocument(shown);
	await vscode.commands.executeCommand("pygent.review.acceptAll");
	assert.deepEqual(await lensesOf(shown, "Accept"), []);
});

test("the next and the previous change are found from the cursor, around the end", async () => {
	const shown = await edited("walked.py");
	const editor = await vscode.window.showTextDocument(shown);
	const cursor = () => vscode.window.activeTextEditor?.selection.active.line;
	editor.selection = new vscode.Selection(0, 0, 0, 0);

	await vscode.commands.executeCommand("pygent.review.next");
	assert.equal(cursor(), 2);
	await vscode.commands.executeCommand("pygent.review.next");
	assert.equal(cursor(), 6);
	await vscode.commands.executeCommand("pygent.review.next");
	assert.equal(cursor(), 2);
	await vscode.commands.executeCommand("pygent.review.previous");
	assert.equal(cursor(), 6);
	await vscode.commands.executeCommand("pygent.review.rejectHunk");
	assert.equal(shown.getText(), AFTER.replace("math.pi", "3"));
	await vscode.commands.executeCommand("pygent.review.acceptAll");
});

test("a file that was made is taken away by a rejection, and a deleted one comes back", async () => {
	await put("old.py", "x = 1\n");
	await finished("make one, delete one", [
		{ name: "create_file", arguments: { path: "made.py", content: "y = 2\n" } },
		{ name: "delete_file", arguments: { path: "old.py" } },
	]);
	const exists = async (name: string): Promise<boolean> =>
		await vscode.workspace.fs.stat(uriOf(name)).then(
			() => true,
			() => false,
		);
	assert.deepEqual([await exists("made.py"), await exists("old.py")], [true, false]);

	await vscode.commands.executeCommand("pygent.review.rejectAll");

	assert.deepEqual([await exists("made.py"), await exists("old.py")], [false, true]);
	assert.equal((await vscode.workspace.openTextDocument(uriOf("old.py"))).getText(), "x = 1\n");
});

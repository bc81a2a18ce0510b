import assert from "node:assert/strict";
import * as vscode from "vscode";
import { attachmentOf, problemsOf, selectionOf } from "../../../src/panel/attachments.ts";
import { placeOf } from "../../../src/panel/calls/attachments.ts";
import { put, shown, uriOf } from "./agent.ts";
import { test } from "./harness.ts";

/** One point, red. */
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";

test("a file is attached by its address, a folder by its mention, a picture as its bytes", async () => {
	await put("attached/tax.py", "rate = 0.2\n");
	await vscode.workspace.fs.writeFile(uriOf("attached/dot.png"), Buffer.from(PNG, "base64"));
	const file = uriOf("attached/tax.py").toString();

	const made = await Promise.all(
		["attached/tax.py", "attached", "attached/dot.png"].map((path) => attachmentOf(uriOf(path))),
	);

	assert.deepEqual(
		made.map(({ label, kind, block }) => ({ label, kind, block })),
		[
			{ label: "tax.py", kind: "file", block: { type: "file", uri: file } },
			{ label: "attached/", kind: "folder", block: { type: "text", text: "\n@attached/\n" } },
			{ label: "dot.png", kind: "image", block: { type: "image", mimeType: "image/png", data: PNG } },
		],
	);
});

test("what is not there, or not of this window, is refused in words", async () => {
	await assert.rejects(attachmentOf(uriOf("moon.py")), { message: "moon.py does not exist and cannot be attached." });
	await assert.rejects(attachmentOf(vscode.Uri.parse("https://example.org/a.py")), /not a file on this machine/);
	await assert.rejects(attachmentOf(vscode.Uri.file("/")), /outside the folders of this window/);
	await vscode.workspace.fs.writeFile(uriOf("big.png"), new Uint8Array(6 * 1024 * 1024));
	await assert.rejects(attachmentOf(uriOf("big.png")), {
		message: "big.png has 6.0 MB: attach an image of at most 5 MB.",
	});
});

test("what a remote window's explorer calls a file is that file", async () => {
	await put("attached/tax.py", "rate = 0.2\n");
	const { path } = uriOf("attached/tax.py");

	const attachment = await attachmentOf(placeOf(`vscode-remote://127.0.0.1:8080${path}`));

	assert.equal(attachment.label, "tax.py");
});

test("a selection is attached as it is, unsaved text included, with the lines that it names", async () => {
	await put("selected.py", "one = 1\ntwo = 2\nthree = 3\n");
	const editor = await vscode.window.showTextDocument(await shown("selected.py"));
	await editor.edit((edit) => edit.replace(new vscode.Range(1, 6, 1, 7), "22"));
	editor.selection = new vscode.Selection(1, 0, 1, 0);
	assert.equal(selectionOf(editor), null);

	editor.selection = new vscode.Selection(0, 0, 2, 0);
	const attachment = selectionOf(editor);
	await vscode.commands.executeCommand("workbench.action.files.revert");

	assert.equal(attachment?.label, "selected.py:1-2");
	assert.deepEqual(attachment?.block, {
		type: "selection",
		uri: uriOf("selected.py").toString(),
		range: { start: { line: 0, character: 0 }, end: { line: 2, character: 0 } },
		text: "one = 1\ntwo = 22\n",
	});
});

test("the problems of a file are attached, whoever found them", async () => {
	const problems = vscode.languages.createDiagnosticCollection("another extension");
	try {
		const found = new vscode.Diagnostic(new vscode.Range(0, 0, 0, 3), "name 'totl' is not defined");
		problems.set(uriOf("judged.py"), [found]);

		const attachment = problemsOf(uriOf("judged.py"));

		assert.equal(attachment?.label, "1 problem in judged.py");
		assert.deepEqual(attachment?.block, {
			type: "diagnostics",
			uri: uriOf("judged.py").toString(),
			items: [
				{
					range: { start: { line: 0, character: 0 }, end: { line: 0, character: 3 } },
					message: "name 'totl' is not defined",
					severity: 1,
				},
			],
		});
		assert.equal(problemsOf(uriOf("clean.py")), null);
	} finally {
		problems.dispose();
	}
});

import assert from "node:assert/strict";
import * as vscode from "vscode";
import { put, shown, uriOf } from "./agent.ts";
import { model, test, until } from "./harness.ts";

type Properties = Readonly<Record<string, object>>;

/** The names of all settings of ours. */
function settings(): readonly string[] {
	const manifest = vscode.extensions.getExtension("pygent.pygent-ls")?.packageJSON as {
		readonly contributes: { readonly configuration: readonly { readonly properties: Properties }[] };
	};
	return manifest.contributes.configuration.flatMap(({ properties }) => Object.keys(properties));
}

/** The words of the last request to the model. */
async function asked(): Promise<string> {
	await model.wait({ answers: 1 });
	return JSON.stringify((await model.requests()).at(-1)?.messages);
}

test("a repository's settings set none of ours", async () => {
	const names = settings();
	const file = vscode.Uri.joinPath(uriOf(".vscode"), "settings.json");
	const values = Object.fromEntries(names.map((name) => [name, "from the repository"]));
	await put(
		".vscode/settings.json",
		JSON.stringify({ ...values, "pygent.hooks": [{ event: "x", command: "touch y" }], "editor.tabSize": 7 }),
	);

	try {
		await until(
			"the repository's settings to count",
			() => vscode.workspace.getConfiguration("editor").get("tabSize") === 7,
		);

		const effective = names.filter((name) => {
			const own = vscode.workspace.getConfiguration().inspect(name);
			return (
				JSON.stringify(vscode.workspace.getConfiguration().get(name)) !==
				JSON.stringify(own?.globalValue ?? own?.defaultValue)
			);
		});
		assert.ok(names.length > 50);
		assert.deepEqual(effective, []);
	} finally {
		await vscode.workspace.fs.delete(file);
	}
});

test("a problem of any extension can be fixed from its light bulb, and the model is told of it", async () => {
	await put("shop.py", "total = 0\nprint(totl)\n");
	const document = await shown("shop.py");
	using problems = Object.assign(vscode.languages.createDiagnosticCollection("another extension"), {
		[Symbol.dispose]() {
			problems.dispose();
		},
	});
	const range = new vscode.Range(1, 6, 1, 10);
	const problem = new vscode.Diagnostic(range, "name 'totl' is not defined");
	problem.source = "othercheck";
	problems.set(document.uri, [problem]);
	await model.script({ text: "It is a typo." });

	const action = await until("the action", async () => {
		const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>(
			"vscode.executeCodeActionProvider",
			document.uri,
			range,
		);
		return actions.find(({ title }) => title.startsWith("Fix with pygent: name 'totl'"));
	});
	assert.ok(action.kind?.contains(vscode.CodeActionKind.QuickFix));
	await vscode.commands.executeCommand(action.command?.command ?? "", ...(action.command?.arguments ?? []));

	assert.match(await asked(), /name 'totl' is not defined.*othercheck/);
});

test("what is selected is explained, with its file and lines", async () => {
	await put("area.py", "import math\n\n\ndef area(r):\n    return 3 * r * r\n");
	const editor = await vscode.window.showTextDocument(await shown("area.py"));
	editor.selection = new vscode.Selection(3, 0, 5, 0);
	await model.script({ text: "It is an area." });

	await vscode.commands.executeCommand("pygent.explainSelection");

	const words = await asked();
	assert.match(words, /Explain what this code does/);
	assert.match(words, /area\.py, lines 4 to 5/);
});

test("the comment at the cursor is a request", async () => {
	await put("todo.py", "x = 1\n\n# pygent: rename x to total\ny = x\n");
	const editor = await vscode.window.showTextDocument(await shown("todo.py"));
	editor.selection = new vscode.Selection(2, 4, 2, 4);
	await model.script({ text: "Renamed." });

	await vscode.commands.executeCommand("pygent.doComment");

	assert.match(await asked(), /rename x to total/);
});

test("the model hears where the user is, and what other extensions find wrong there", async () => {
	await put("seen.py", "value = undefined_name\n");
	const editor = await vscode.window.showTextDocument(await shown("seen.py"));
	const problems = vscode.languages.createDiagnosticCollection("background");
	problems.set(editor.document.uri, [
		new vscode.Diagnostic(new vscode.Range(0, 8, 0, 22), "undefined_name is unknown here"),
	]);
	editor.selection = new vscode.Selection(0, 0, 0, 5);

	try {
		await until("the model to hear of it", async () => {
			await model.script({ text: "I see." });
			await vscode.commands.executeCommand("pygent.ask", "What is wrong where I am? Use @diagnostics");
			return /undefined_name is unknown here/.test(await asked());
		});
	} finally {
		problems.dispose();
	}
});

test("all problems of a file go to the chat with one command", async () => {
	await put("many.py", "a\nb\n");
	const document = await shown("many.py");
	await vscode.window.showTextDocument(document);
	const problems = vscode.languages.createDiagnosticCollection("many");
	problems.set(document.uri, [
		new vscode.Diagnostic(new vscode.Range(0, 0, 0, 1), "first problem"),
		new vscode.Diagnostic(new vscode.Range(1, 0, 1, 1), "second problem"),
	]);
	await model.script({ text: "Both." });

	try {
		await vscode.commands.executeCommand("pygent.fixProblems");
		assert.match(await asked(), /first problem.*second problem/);
	} finally {
		problems.dispose();
	}
});

test("the last turn is taken back with one command", async () => {
	await put("kept.py", "total = 0\n");
	const document = await shown("kept.py");
	await model.script(
		{ text: "", calls: [{ name: "edit_file", arguments: { path: "kept.py", old: "total = 0", new: "total = 1" } }] },
		{ text: "Done." },
	);
	await vscode.commands.executeCommand("pygent.ask", "set it to one");
	await until("the edit", () => document.getText() === "total = 1\n");
	await model.wait({ answers: 2 });

	await until("the undo", async () => {
		await vscode.commands.executeCommand("pygent.undoLastTurn");
		return document.getText() === "total = 0\n";
	});
});

test("a command that comes while pygent is restarted waits for it", async () => {
	await put("restarted.py", "x = 1\n");
	await vscode.window.showTextDocument(await shown("restarted.py"));
	await model.script({ text: "It is one." });

	const restarted = vscode.commands.executeCommand("pygent.restart");
	await vscode.commands.executeCommand("pygent.explainSelection");
	await restarted;

	assert.match(await asked(), /Explain what this code does/);
});

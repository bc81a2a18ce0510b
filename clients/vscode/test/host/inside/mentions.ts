import assert from "node:assert/strict";
import * as vscode from "vscode";
import { findSymbols } from "../../../src/editor/symbols.ts";
import { Terminals } from "../../../src/editor/terminals.ts";
import { completedSymbols, mentioned } from "../../../src/panel/mentions.ts";
import type { Services } from "../../../src/panel/services.ts";
import { put, shown, uriOf } from "./agent.ts";
import { test, until } from "./harness.ts";

/** As much of a view as mentions need. */
function editorWith(terminals: Terminals, recent: readonly vscode.Uri[] = []): Services {
	return { terminals, contexts: { recent } } as unknown as Services;
}

async function blocksOf(editor: Services, text: string): Promise<readonly unknown[]> {
	return (await mentioned(editor, null, text)).map(({ block }) => block);
}

test("@terminal takes along the last command of a terminal, what it printed and how it ended", async () => {
	const terminals = new Terminals();
	const editor = editorWith(terminals);
	const terminal = vscode.window.createTerminal({ name: "build", shellPath: "/bin/bash" });
	try {
		terminal.show();
		const shell = await until("shell integration", () => terminal.shellIntegration);
		const run = async (command: string): Promise<void> => {
			const before = terminals.commandsOf(terminal).length;
			shell.executeCommand(command);
			await until("the command's end", () => {
				const commands = terminals.commandsOf(terminal);
				return commands.length > before && !commands.at(-1)?.isRunning;
			});
		};
		await run("echo at once"); // too quick for the editor to tell what it printed
		await until("the terminal in front", () => vscode.window.activeTerminal === terminal);
		await vscode.env.clipboard.writeText("kept");
		assert.deepEqual(await blocksOf(editor, "Read @terminal"), [
			{ type: "terminal", command: "echo at once", output: "at once", exitCode: 0 },
		]);
		assert.equal(await vscode.env.clipboard.readText(), "kept");
		await run("printf '\\e[31mone\\e[0m\\n10%%\\r20%%\\n'; sleep 0.1; false");

		const expected = {
			type: "terminal",
			command: "printf '\\e[31mone\\e[0m\\n10%%\\r20%%\\n'; sleep 0.1; false",
			output: "one\n20%",
			exitCode: 1,
		};
		assert.deepEqual(await blocksOf(editor, "Why does @terminal fail?"), [expected]);
		assert.deepEqual(await blocksOf(editor, "Why does @terminal:build fail?"), [expected]);
		assert.deepEqual(
			terminals.commandsOf(terminal).map(({ command, exitCode }) => ({ command, exitCode })),
			[
				{ command: "echo at once", exitCode: 0 },
				{ command: expected.command, exitCode: 1 },
			],
		);
	} finally {
		terminal.dispose();
		terminals.dispose();
	}
});

test("of a terminal whose shell tells nothing, @terminal takes along what it shows, and leaves the clipboard alone", async () => {
	const terminals = new Terminals();
	const written = new vscode.EventEmitter<string>();
	const opened = Promise.withResolvers<void>();
	const pty: vscode.Pseudoterminal = {
		onDidWrite: written.event,
		open: () => opened.resolve(),
		close: () => undefined,
	};
	const terminal = vscode.window.createTerminal({ name: "serial port", pty });
	try {
		terminal.show();
		await opened.promise;
		await vscode.env.clipboard.writeText("kept");
		written.fire("\u001b[32mboot ok\u001b[0m\r\nlogin: \r\n");

		const [block] = await until("what the terminal shows", async () => {
			const blocks = await blocksOf(editorWith(terminals), 'Read @"terminal:serial port"').catch(() => []);
			return blocks.length > 0 && blocks;
		});

		assert.deepEqual(block, { type: "terminal", command: "", output: "boot ok\nlogin:" });
		assert.equal(await vscode.env.clipboard.readText(), "kept");
	} finally {
		terminal.dispose();
		terminals.dispose();
	}
});

test("a terminal or a symbol that is not there is said, and the prompt is not sent without it", async () => {
	const terminals = new Terminals();
	const editor = editorWith(terminals);
	await put("mentioned/cart.py", "PLUM = 3\n");

	await assert.rejects(blocksOf(editor, "Read @terminal:moon"), { message: "There is no terminal moon." });
	await assert.rejects(blocksOf(editor, "Read @symbol:moon.py#f"), { message: /There is no file moon\.py/ });
	await assert.rejects(blocksOf(editor, "Read @symbol:mentioned/cart.py#f"), {
		message: "mentioned/cart.py has no symbol f.",
	});
	terminals.dispose();
});

test("@symbol offers the workspace's symbols, those of recent files first, and takes along the whole of one", async () => {
	await put("mentioned/shop.mock", "class Cart\n  def total\n    sum\n  end\nend\n");
	await put("mentioned/old.mock", "def total\nend\n");
	const [near, far] = [uriOf("mentioned/shop.mock"), uriOf("mentioned/old.mock")];
	await shown("mentioned/shop.mock");
	const named = (uri: vscode.Uri, line: number, container: string) =>
		new vscode.SymbolInformation(
			"total",
			vscode.SymbolKind.Method,
			container,
			new vscode.Location(uri, new vscode.Range(line, 0, line, 5)),
		);
	const whole = (name: string, kind: vscode.SymbolKind, from: number, to: number) =>
		new vscode.DocumentSymbol(name, "", kind, new vscode.Range(from, 0, to, 3), new vscode.Range(from, 0, from, 1));
	const registered = vscode.Disposable.from(
		vscode.languages.registerWorkspaceSymbolProvider({
			provideWorkspaceSymbols: (query) =>
				"total".includes(query)
					? [named(far, 0, ""), named(near, 1, "Cart"), named(vscode.Uri.file("/elsewhere.mock"), 0, "")]
					: [],
		}),
		vscode.languages.registerDocumentSymbolProvider(
			{ pattern: "**/*.mock" },
			{
				provideDocumentSymbols: () => {
					const cart = whole("Cart", vscode.SymbolKind.Class, 0, 4);
					cart.children.push(whole("total", vscode.SymbolKind.Method, 1, 3));
					return [cart];
				},
			},
		),
	);
	const terminals = new Terminals();
	const editor = editorWith(terminals, [near]);
	try {
		const offered = await completedSymbols(editor, "Speed up @symbol:tot");
		const inFront = await findSymbols("", [near]);
		const [block] = await blocksOf(editor, `Speed up ${offered?.items[0]?.insertText}, please`);
		const [byName] = await blocksOf(editor, "Speed up @symbol:total.");

		assert.deepEqual(offered, {
			start: "Speed up ".length,
			items: [
				{
					label: "@symbol:Cart.total",
					insertText: "@symbol:mentioned/shop.mock#Cart.total",
					kind: "symbol",
					detail: "mentioned/shop.mock",
					icon: "symbol-method",
				},
				{
					label: "@symbol:total",
					insertText: "@symbol:mentioned/old.mock#total",
					kind: "symbol",
					detail: "mentioned/old.mock",
					icon: "symbol-method",
				},
			],
		});
		assert.deepEqual(
			inFront.map(({ name }) => name),
			["Cart", "Cart.total"],
		);
		const range = { start: { line: 1, character: 0 }, end: { line: 3, character: 3 } };
		assert.deepEqual(block, { type: "file", uri: near.toString(), range });
		assert.deepEqual(byName, block);
	} finally {
		registered.dispose();
		terminals.dispose();
	}
});

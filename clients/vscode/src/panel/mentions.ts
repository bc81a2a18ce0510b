/** `@terminal` and `@symbol`: mentions that the editor completes, and of which a prompt carries what they stand for. */

import * as vscode from "vscode";
import type { Attachment, Calls, Suggestion } from "../bridge/messages.ts";
import { type Mention, mentionsIn, type SymbolMention, writtenMention } from "../conversation/mentions.ts";
import { type FoundSymbol, findSymbols, symbolIn } from "../editor/symbols.ts";
import { mentionedPath, ofSymbol, ofTerminal } from "./attachments.ts";
import { exists, placesOf } from "./locations.ts";
import type { Services } from "./services.ts";

type Editor = Pick<Services, "contexts" | "terminals">;

type Completion = Calls["complete"]["result"];

const SYMBOL = /(?:^|(?<=[\s("'[`]))@"?symbol:(?<query>[^\s"`<>()[\]{},;]*)$/;
const WORD = /(?:^|(?<=[\s("'[`]))@(?<word>[\w:-]*)$/;

/** The symbols that may be meant; null where the text does not end in a mention of one. */
export async function completedSymbols({ contexts }: Editor, text: string): Promise<Completion | null> {
	const found = SYMBOL.exec(text);
	if (found === null) return null;
	const symbols = await findSymbols(found.groups?.["query"] ?? "", contexts.recent);
	return { items: symbols.map(suggestionOf), start: found.index };
}

/** Adds the editor's suggestions to the daemon's list: after its words, before files that are only in the workspace. */
export function withEditorsWords(answer: Completion, text: string): Completion {
	const word = WORD.exec(text)?.groups?.["word"]?.toLowerCase();
	if (word === undefined) return answer;
	const added = editorsWords().filter(({ insertText }) => insertText.toLowerCase().startsWith(`@${word}`));
	const words = answer.items.findLastIndex(({ kind }) => kind === "word");
	return { ...answer, items: answer.items.toSpliced(words + 1, 0, ...added) };
}

function editorsWords(): readonly Suggestion[] {
	const names = [...new Set(vscode.window.terminals.map(({ name }) => name))];
	const { activeTerminal } = vscode.window;
	const terminal = { label: "@terminal", insertText: "@terminal", kind: "terminal" } as const;
	return [
		...(activeTerminal === undefined ? [] : [{ ...terminal, detail: "the last command and its output" }]),
		...names
			.filter((name) => name !== activeTerminal?.name && !name.includes('"'))
			.map((name) => {
				const written = writtenMention(`terminal:${name}`);
				return { ...terminal, label: `@terminal:${name}`, insertText: written, detail: "of that terminal" };
			}),
		{ label: "@symbol:", insertText: "@symbol:", kind: "symbol", detail: "a function, a class, …" },
	];
}

function suggestionOf({ name, uri, kind }: FoundSymbol): Suggestion {
	const path = mentionedPath(uri);
	return {
		label: `@symbol:${name}`,
		insertText: writtenMention(`symbol:${path}#${name}`),
		kind: "symbol",
		detail: path,
		icon: symbolIcon(kind),
	};
}

/** `symbol-enum-member` */
export function symbolIcon(kind: vscode.SymbolKind): string {
	return `symbol${(vscode.SymbolKind[kind] ?? "Misc").replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/**
 * Returns the attachments for the editor's mentions in a prompt of a session in the folder `cwd`. Raises, with a
 * message for the user, if a mention cannot be resolved.
 */
export async function mentioned(editor: Editor, cwd: string | null, text: string): Promise<readonly Attachment[]> {
	const attachments: Attachment[] = [];
	// One after the other: two terminals may need the clipboard
	for (const mention of mentionsIn(text)) attachments.push(await attachmentFor(editor, cwd, mention));
	return attachments;
}

async function attachmentFor(editor: Editor, cwd: string | null, mention: Mention): Promise<Attachment> {
	switch (mention.type) {
		case "terminal": {
			const terminal = terminalNamed(mention.name);
			return ofTerminal(await editor.terminals.lastOf(terminal), `terminal ${terminal.name}`);
		}
		case "symbol":
			return ofSymbol(await symbolNamed(editor, cwd, mention));
	}
}

/** Returns the terminal with that name; with null, the one that was used last. */
function terminalNamed(name: string | null): vscode.Terminal {
	const { activeTerminal, terminals } = vscode.window;
	if (name === null) {
		if (activeTerminal !== undefined) return activeTerminal;
		throw new Error("No terminal is open: @terminal takes along the last command of one and its output.");
	}
	const found = [activeTerminal, ...terminals.toReversed()].find((each) => each?.name === name);
	if (found === undefined) throw new Error(`There is no terminal ${name}.`);
	return found;
}

async function symbolNamed(
	{ contexts }: Editor,
	cwd: string | null,
	{ path, name }: SymbolMention,
): Promise<FoundSymbol> {
	if (path !== null) {
		for (const uri of placesOf(path, cwd)) if (await exists(uri)) return await symbolIn(uri, name);
		throw new Error(`There is no file ${path} in a folder of this window.`);
	}
	const found = await findSymbols(name, contexts.recent);
	const symbol = found.find((each) => each.name === name || each.name.endsWith(`.${name}`));
	if (symbol === undefined) throw new Error(`There is no symbol ${name} in the workspace.`);
	return await symbolIn(symbol.uri, symbol.name).catch(() => symbol);
}

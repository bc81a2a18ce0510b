/** What the language servers of this editor answer about code, in the shapes of LSP. Nothing is applied here. */

import * as vscode from "vscode";
import type { RequestHandlers } from "../daemon/daemon.ts";
import type {
	CallsRequest,
	CodeActionsRequest,
	FormatRequest,
	LanguageAnswer,
	LocationsRequest,
	Position,
	SymbolsRequest,
} from "../protocol/protocol.ts";
import { diagnosticOut, rangeIn, rangeOut } from "./conversion.ts";
import type { DiagnosticsWatch } from "./diagnostics_watch.ts";
import { upToDate } from "./document_text.ts";

/** Requests about code that are answered here; `daemon/client.ts` says so to the daemon. */
type LanguageRequest =
	| "pygent/client/diagnostics"
	| "pygent/client/locations"
	| "pygent/client/hover"
	| "pygent/client/symbols"
	| "pygent/client/calls"
	| "pygent/client/rename"
	| "pygent/client/codeActions"
	| "pygent/client/format";

/** Maximum number of code actions that get their edit, and of functions whose calls are looked up. */
const MOST_ACTIONS = 50;
const MOST_CALLERS = 5;

const LOCATIONS = {
	definition: "vscode.executeDefinitionProvider",
	implementation: "vscode.executeImplementationProvider",
	type_definition: "vscode.executeTypeDefinitionProvider",
	references: "vscode.executeReferenceProvider",
} as const;

export function languageHandlers(watch: DiagnosticsWatch): Pick<RequestHandlers, LanguageRequest> {
	return {
		"pygent/client/diagnostics": async ({ uri, waitMs }) => {
			const found = await watch.settled(vscode.Uri.parse(uri), waitMs);
			return found === null ? answer(null) : { result: found.items.map(diagnosticOut), isSettled: found.isSettled };
		},
		"pygent/client/locations": async (request) => answer(await locations(request)),
		"pygent/client/hover": async ({ uri, position }) => answer(await hover(vscode.Uri.parse(uri), position)),
		"pygent/client/symbols": async (request) => answer(await symbols(request)),
		"pygent/client/calls": async (request) => answer(await calls(request)),
		"pygent/client/rename": async ({ uri, position, newName }) =>
			answer(await renaming(vscode.Uri.parse(uri), positionIn(position), newName)),
		"pygent/client/codeActions": async (request) => answer(await codeActions(request)),
		"pygent/client/format": async (request) => answer(await formatted(request)),
	};
}

function answer(result: unknown): LanguageAnswer {
	return { result: result ?? null, positionEncoding: "utf-16" };
}

/** Asks the providers of the editor; a language that has none is answered with an empty list. */
async function ask<Found>(command: string, ...given: readonly unknown[]): Promise<Found | null> {
	return (await vscode.commands.executeCommand<Found | undefined>(command, ...given)) ?? null;
}

async function locations({ kind, uri, position }: LocationsRequest): Promise<unknown> {
	const found = await ask<(vscode.Location | vscode.LocationLink)[]>(
		LOCATIONS[kind],
		vscode.Uri.parse(uri),
		positionIn(position),
	);
	return found?.map((each) =>
		"targetUri" in each
			? { uri: each.targetUri.toString(), range: rangeOut(each.targetSelectionRange ?? each.targetRange) }
			: { uri: each.uri.toString(), range: rangeOut(each.range) },
	);
}

async function hover(uri: vscode.Uri, position: Position): Promise<unknown> {
	const found = await ask<vscode.Hover[]>("vscode.executeHoverProvider", uri, positionIn(position));
	const contents = (found ?? []).flatMap((each) => each.contents);
	return contents.length === 0
		? null
		: { contents: contents.map((each) => (typeof each === "string" ? each : { language: "", value: each.value })) };
}

async function symbols({ uri, query }: SymbolsRequest): Promise<unknown> {
	const found =
		uri === null
			? await ask<vscode.SymbolInformation[]>("vscode.executeWorkspaceSymbolProvider", query ?? "")
			: await ask<(vscode.SymbolInformation | vscode.DocumentSymbol)[]>(
					"vscode.executeDocumentSymbolProvider",
					vscode.Uri.parse(uri),
				);
	// What the command returns is both kinds at once; only one that is a DocumentSymbol has the range of its name.
	return found?.map((each) => ("selectionRange" in each ? documentSymbol(each) : symbolInformation(each)));
}

function documentSymbol(each: vscode.DocumentSymbol): unknown {
	return {
		name: each.name,
		kind: each.kind + 1, // the protocol counts from 1
		range: rangeOut(each.range),
		selectionRange: rangeOut(each.selectionRange),
		children: each.children.map(documentSymbol),
	};
}

function symbolInformation(each: vscode.SymbolInformation): unknown {
	return {
		name: each.name,
		kind: each.kind + 1,
		containerName: each.containerName,
		location: { uri: each.location.uri.toString(), range: rangeOut(each.location.range) },
	};
}

async function calls({ direction, uri, position }: CallsRequest): Promise<unknown> {
	const items = await ask<vscode.CallHierarchyItem[]>(
		"vscode.prepareCallHierarchy",
		vscode.Uri.parse(uri),
		positionIn(position),
	);
	const found = (items ?? []).slice(0, MOST_CALLERS).map(async (item) => {
		if (direction === "incoming") {
			const incoming = await ask<vscode.CallHierarchyIncomingCall[]>("vscode.provideIncomingCalls", item);
			return (incoming ?? []).map((each) => ({
				from: callItem(each.from),
				fromRanges: each.fromRanges.map(rangeOut),
			}));
		}
		const outgoing = await ask<vscode.CallHierarchyOutgoingCall[]>("vscode.provideOutgoingCalls", item);
		return (outgoing ?? []).map((each) => ({ to: callItem(each.to), fromRanges: each.fromRanges.map(rangeOut) }));
	});
	return (await Promise.all(found)).flat();
}

function callItem({ name, kind, uri, range, selectionRange }: vscode.CallHierarchyItem): unknown {
	return {
		name,
		kind: kind + 1,
		uri: uri.toString(),
		range: rangeOut(range),
		selectionRange: rangeOut(selectionRange),
	};
}

async function renaming(uri: vscode.Uri, position: vscode.Position, newName: string): Promise<unknown> {
	const edit = await ask<vscode.WorkspaceEdit>("vscode.executeDocumentRenameProvider", uri, position, newName);
	return edit === null ? null : editOut(edit);
}

async function codeActions({ uri, range, title }: CodeActionsRequest): Promise<unknown> {
	const found = await ask<(vscode.CodeAction | vscode.Command)[]>(
		"vscode.executeCodeActionProvider",
		vscode.Uri.parse(uri),
		rangeIn(range),
		undefined,
		title === null ? undefined : MOST_ACTIONS,
	);
	const wanted = (found ?? []).filter((each) => title === null || each.title === title);
	return wanted.map((each) => actionOut(each, title !== null));
}

/** One that was not resolved may still get an edit: `data` says so. */
function actionOut(each: vscode.CodeAction | vscode.Command, isResolved: boolean): unknown {
	if (typeof each.command === "string") return { title: each.title, command: each.command };
	const action = each as vscode.CodeAction;
	return {
		title: action.title,
		...(action.kind === undefined ? {} : { kind: action.kind.value }),
		...(action.disabled === undefined ? {} : { disabled: { reason: action.disabled.reason } }),
		...(action.edit === undefined ? {} : { edit: editOut(action.edit) }),
		...(action.command === undefined ? {} : { command: { title: "", command: action.command.command } }),
		...(isResolved ? {} : { data: true }),
	};
}

/** Throws for an edit that does more than change text: VS Code does not tell an extension what. */
function editOut(edit: vscode.WorkspaceEdit): unknown {
	const entries = edit.entries();
	if (edit.size > entries.length) throw new Error("it creates, moves or deletes files, or inserts a snippet");
	return {
		documentChanges: entries.map(([uri, edits]) => ({
			textDocument: { uri: uri.toString(), version: null },
			edits: edits.map(({ range, newText }) => ({ range: rangeOut(range), newText })),
		})),
	};
}

/**
 * A text of a document, formatted; null if the document has another text. The command takes the first formatter that
 * changes anything, and not the user's default one: a file that it leaves alone is formatted by all of them.
 */
async function formatted({ uri, text, onSaveOnly }: FormatRequest): Promise<string | null> {
	const file = vscode.Uri.parse(uri);
	if (file.path.endsWith(".ipynb")) return null; // its text is not to be open beside its cells
	const document = await upToDate(file);
	if (onSaveOnly && vscode.workspace.getConfiguration("editor", document).get("formatOnSave") !== true) return null;
	if (document.getText() !== text) return null;
	const edits = await ask<vscode.TextEdit[]>("vscode.executeFormatDocumentProvider", document.uri);
	return document.getText() === text ? edited(document, edits ?? []) : null;
}

/** The text after edits, which do not overlap. */
function edited(document: vscode.TextDocument, edits: readonly vscode.TextEdit[]): string {
	const text = document.getText();
	const lineEnd = document.eol === vscode.EndOfLine.CRLF ? "\r\n" : "\n";
	let [made, end] = ["", 0];
	for (const { range, newText } of edits.toSorted((left, right) => left.range.start.compareTo(right.range.start))) {
		made += text.slice(end, document.offsetAt(range.start)) + newText.replaceAll(/\r\n|\r|\n/g, lineEnd);
		end = document.offsetAt(range.end);
	}
	return made + text.slice(end);
}

function positionIn({ line, character }: Position): vscode.Position {
	return new vscode.Position(line, character);
}

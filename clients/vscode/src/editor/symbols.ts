/** Symbols of the workspace, as the editor's language extensions know them. */

import * as vscode from "vscode";
import { openFiles } from "./context.ts";

export interface FoundSymbol {
	/** Name with its container: `Cart.total`. */
	readonly name: string;
	readonly uri: vscode.Uri;
	readonly kind: vscode.SymbolKind;
	/**
	 * Range of the whole symbol if it comes from the document; a symbol of the workspace often has only the range of
	 * its name.
	 */
	readonly range: vscode.Range;
}

const MOST = 50;

/** Time limit for a language extension to answer. */
const ANSWER_MS = 10_000;

/**
 * Returns matching symbols, best first: those of files that the user works with (`near`, the nearest first), then by
 * how well the name fits. With an empty query, those of the nearest file.
 */
export async function findSymbols(query: string, near: readonly vscode.Uri[]): Promise<readonly FoundSymbol[]> {
	const [front] = near;
	if (query === "") return front === undefined ? [] : (await symbolsOf(front)).slice(0, MOST);
	const found = await answered<vscode.SymbolInformation[]>("vscode.executeWorkspaceSymbolProvider", query);
	const places = new Map([...near, ...openFiles()].map((uri, index) => [uri.toString(), index]));
	const ranked = found
		.filter(({ location }) => vscode.workspace.getWorkspaceFolder(location.uri) !== undefined)
		.map((symbol) => ({
			symbol,
			fit: fitOf(symbol.name.toLowerCase(), query.toLowerCase()),
			place: places.get(symbol.location.uri.toString()) ?? Number.POSITIVE_INFINITY,
		}))
		.sort((a, b) => compared(nearness(a), nearness(b)) || a.fit - b.fit || compared(a.place, b.place));
	return ranked.slice(0, MOST).map(({ symbol }) => flat(symbol));
}

/** Returns the symbol of that name in the current text of the file. Raises if it does not exist. */
export async function symbolIn(uri: vscode.Uri, name: string): Promise<FoundSymbol> {
	const all = await symbolsOf(uri);
	const found =
		all.find((each) => each.name === name) ??
		all.find((each) => each.name.endsWith(`.${name}`)) ??
		all.find((each) => name.endsWith(`.${each.name}`)); // the workspace's list named the module before it
	if (found !== undefined) return found;
	throw new Error(`${vscode.workspace.asRelativePath(uri)} has no symbol ${name}.`);
}

/** All symbols of a file, those within others after these. */
async function symbolsOf(uri: vscode.Uri): Promise<readonly FoundSymbol[]> {
	const found = await answered<DocumentSymbol[]>("vscode.executeDocumentSymbolProvider", uri);
	return found.flatMap((each) => nested(each, uri, ""));
}

/** The editor makes one of what extensions tell as a list, too, with `containerName` in place of children. */
type DocumentSymbol = vscode.DocumentSymbol & { readonly containerName?: string };

function nested(symbol: DocumentSymbol, uri: vscode.Uri, before: string): readonly FoundSymbol[] {
	const { kind, range, containerName = "" } = symbol;
	const name = joined(before, containerName, symbol.name);
	return [{ name, uri, kind, range }, ...symbol.children.flatMap((each) => nested(each, uri, name))];
}

function flat({ name, containerName = "", kind, location }: vscode.SymbolInformation): FoundSymbol {
	return { name: joined(containerName, name), uri: location.uri, kind, range: location.range };
}

/** Some extensions write `total()` in the workspace's list and `total` in the file's. */
function joined(...names: readonly string[]): string {
	const known = names.filter((name) => name !== "");
	return known.map((name) => name.replace(/\(\)$/, "")).join(".");
}

/** Returns the rank of a symbol's group: 0 if its file is near and its name contains the query. */
function nearness({ fit, place }: { readonly fit: number; readonly place: number }): number {
	return Number.isFinite(place) && fit < 3 ? 0 : 1;
}

function fitOf(name: string, query: string): number {
	if (name === query) return 0;
	if (name.startsWith(query)) return 1;
	return name.includes(query) ? 2 : 3;
}

function compared(a: number, b: number): number {
	return a === b ? 0 : a - b;
}

async function answered<Found>(command: string, ...args: readonly unknown[]): Promise<Found | readonly never[]> {
	let timer: NodeJS.Timeout | undefined;
	const late = new Promise<never>((_, reject) => {
		const error = new Error("The language extension does not tell its symbols. Try again, or attach the file.");
		timer = setTimeout(() => reject(error), ANSWER_MS);
	});
	try {
		return (await Promise.race([vscode.commands.executeCommand<Found | undefined>(command, ...args), late])) ?? [];
	} finally {
		clearTimeout(timer);
	}
}

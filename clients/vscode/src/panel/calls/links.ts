/** Links of a conversation. The model has written them: they lead to the web, or to a file of the workspace. */

import * as vscode from "vscode";
import { exists, openAt, placesOf } from "../locations.ts";

/** A path, and the line that follows it in one of the usual spellings: `a.py:10`, `a.py:10-20`, `a.py#L10-L20`. */
const PATH = /^(?<path>.+?)(?:(?::|#L)(?<line>\d+)(?:[:-]L?(?<end>\d+))?)?$/;

/**
 * Opens a file or a web address. Raises if the link is neither. The editor itself asks the user before it opens the
 * web.
 */
export async function openLink(href: string, cwd: string | null): Promise<void> {
	if (/^https?:\/\//i.test(href)) {
		await vscode.env.openExternal(vscode.Uri.parse(href, true));
		return;
	}
	if (/^[a-z][a-z0-9+.-]*:(?!\d)/i.test(href)) throw new Error(`${href} is neither a web address nor a path.`);
	const { path, line, end } = PATH.exec(href)?.groups ?? {};
	const uri = path === undefined ? undefined : await firstThatExists(placesOf(path, cwd));
	if (uri === undefined) throw new Error(`There is no file ${path ?? href} in a folder of this window.`);
	await openAt(uri, line === undefined ? null : linesOf(Number(line), Number(end ?? line)));
}

async function firstThatExists(uris: readonly vscode.Uri[]): Promise<vscode.Uri | undefined> {
	for (const uri of uris) if (await exists(uri)) return uri;
	return undefined;
}

function linesOf(first: number, last: number): vscode.Range {
	return new vscode.Range(Math.max(0, first - 1), 0, Math.max(0, last - 1), Number.MAX_SAFE_INTEGER);
}

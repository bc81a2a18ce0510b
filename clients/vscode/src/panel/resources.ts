/** Addresses of the files of a chat view's page. */

import * as vscode from "vscode";
import { pageText } from "./page.ts";

/** May be shown in a view: what the bundle brought. */
export function localRoots(extension: vscode.Uri): readonly vscode.Uri[] {
	return [vscode.Uri.joinPath(extension, "dist")];
}

export function pageOf(webview: vscode.Webview, extension: vscode.Uri): string {
	return pageText(webview.cspSource, (file) =>
		webview.asWebviewUri(vscode.Uri.joinPath(extension, "dist", file)).toString(),
	);
}

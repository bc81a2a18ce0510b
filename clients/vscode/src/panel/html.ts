/** The page of a chat view: nothing from elsewhere, and no script but ours. */

import { randomBytes } from "node:crypto";
import * as vscode from "vscode";

/** May be shown in a view: what the bundle brought. */
export function localRoots(extension: vscode.Uri): readonly vscode.Uri[] {
	return [vscode.Uri.joinPath(extension, "dist")];
}

export function pageOf(webview: vscode.Webview, extension: vscode.Uri): string {
	const nonce = randomBytes(16).toString("base64");
	const file = (name: string) => webview.asWebviewUri(vscode.Uri.joinPath(extension, "dist", name)).toString();
	const policy = [
		"default-src 'none'",
		`script-src 'nonce-${nonce}'`,
		`style-src ${webview.cspSource}`,
		`font-src ${webview.cspSource}`,
		"img-src data: blob:",
	].join("; ");
	return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${file("webview.css")}">
<title>pygent</title>
</head>
<body>
<div id="root"></div>
<script nonce="${nonce}" type="module" src="${file("webview.js")}"></script>
</body>
</html>`;
}

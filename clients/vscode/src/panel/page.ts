/** The page of a chat view: nothing from elsewhere, and no script but ours. */

import { randomBytes } from "node:crypto";

/**
 * `source` is the origin of our files in the content security policy; `address` returns the address of a file in
 * `dist/`.
 */
export function pageText(source: string, address: (file: string) => string): string {
	const nonce = randomBytes(16).toString("base64");
	const policy = [
		"default-src 'none'",
		`script-src 'nonce-${nonce}'`,
		`style-src ${source}`,
		`font-src ${source}`,
		"img-src data: blob:",
	].join("; ");
	return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${address("webview.css")}">
<title>pygent</title>
</head>
<body>
<div id="root"></div>
<script nonce="${nonce}" type="module" src="${address("webview.js")}"></script>
</body>
</html>`;
}

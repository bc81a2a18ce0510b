import assert from "node:assert/strict";
import { openLink } from "../../../src/panel/calls/links.ts";
import { fileNamed, placesOf } from "../../../src/panel/locations.ts";
import { put, uriOf } from "./agent.ts";
import { test } from "./harness.ts";

const paths = (path: string, cwd: string | null = null) => placesOf(path, cwd).map(({ fsPath }) => fsPath);

test("a path of the conversation is in a folder of the window, however it is spelled", async () => {
	const cart = uriOf("cart.py").fsPath;
	assert.deepEqual(paths("cart.py"), [cart]);
	assert.deepEqual(paths(cart), [cart]);
	assert.deepEqual(paths("lib/../cart.py"), [cart]);
});

test("a path that leads out of the window's folders leads nowhere", async () => {
	const folder = uriOf("").path;
	await put("inside.py", "x = 1\n");
	for (const path of ["../secret.txt", "lib/../../secret.txt", "/etc/passwd", `${folder}/../../etc/passwd`]) {
		assert.deepEqual(paths(path), [], path);
		assert.deepEqual(paths(path, "/etc"), [], path);
	}
	const up = "../".repeat(folder.split("/").length);
	await assert.rejects(openLink(`${folder}/${up}etc/hostname`, null), /There is no file/);
});

test("what a view names to be opened is a file, and no command or page", async () => {
	assert.equal(fileNamed(uriOf("cart.py").toString()).fsPath, uriOf("cart.py").fsPath);
	assert.equal(fileNamed("untitled:Untitled-1").scheme, "untitled");
	for (const address of ["command:workbench.action.terminal.new", "https://example.org/", "vscode://a.b/c"]) {
		assert.throws(() => fileNamed(address), { message: `${address} is not a file.` });
	}
	assert.throws(() => fileNamed("cart.py"), /Scheme is missing/);
});

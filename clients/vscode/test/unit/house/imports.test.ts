import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { CLIENT } from "../../paths.ts";
import { importsOf, packageOf, type Source, sourcesIn } from "./sources.ts";

/** What runs anywhere, the tests included: values in, values out. */
const PURE = [/^src\/bridge\//, /^src\/conversation\//, /^src\/protocol\//];

/** The rooms that speak to the editor. A new one is named here when it has a reason to. */
const EDITOR = [/^src\/extension\.ts$/, /^src\/(?:commands|daemon|editor|panel|review|sessions|tools)\//];

/** The page of the panel, which has neither Node nor the editor. */
const PAGE = [/^src\/webview\//];

const SOURCES = sourcesIn("src");

function isIn(rooms: readonly RegExp[], path: string): boolean {
	return rooms.some((room) => room.test(path));
}

/** `file imports name`, for every import of the files in the rooms that the rule does not allow. */
function offences(of: (source: Source) => boolean, allowed: (name: string) => boolean): readonly string[] {
	return SOURCES.filter(of).flatMap((source) =>
		importsOf(source)
			.filter((name) => !allowed(name))
			.map((name) => `${source.path} imports ${name}`),
	);
}

function isFile(name: string): boolean {
	return name.startsWith("src/");
}

test("the imports of a file are found however they are written", () => {
	const text = [
		'import * as vscode from "vscode";',
		"import {",
		"\ttype A,",
		"\tb,",
		'} from "../conversation/state.ts";',
		'import "./page.css";',
		'export { c } from "./other.ts";',
		'const d = await import("node:fs");',
	].join("\n");

	assert.deepEqual(importsOf({ path: "src/panel/panel.ts", text, generated: false }), [
		"vscode",
		"src/conversation/state.ts",
		"src/panel/page.css",
		"src/panel/other.ts",
		"node:fs",
	]);
});

test("the rooms that are kept apart hold files", () => {
	for (const room of [...PURE, ...PAGE]) {
		assert.ok(
			SOURCES.some(({ path }) => room.test(path)),
			`no file is in ${room}: correct the rooms in this test`,
		);
	}
});

test("pure code imports pure code alone: no editor, no Node, no page", () => {
	const wrong = offences(
		({ path }) => isIn(PURE, path),
		(name) => (isFile(name) ? isIn(PURE, name) : name !== "vscode" && !/^(node:|react|vscode-)/.test(name)),
	);

	assert.deepEqual(wrong, []);
});

test("the editor is imported by the named rooms alone", () => {
	const wrong = offences(
		({ path }) => !isIn(EDITOR, path),
		(name) => name !== "vscode" && !name.startsWith("vscode-languageclient"),
	);

	assert.deepEqual(wrong, [], "a room that needs the editor is named in EDITOR in this test");
});

test("the page imports the page and pure code alone, and nothing else imports the page", () => {
	const outOfThePage = offences(
		({ path }) => isIn(PAGE, path),
		(name) => (isFile(name) ? isIn(PAGE, name) || isIn(PURE, name) : !name.startsWith("node:")),
	);
	const intoThePage = offences(
		({ path }) => !isIn(PAGE, path),
		(name) => !isIn(PAGE, name),
	);

	assert.deepEqual([...outOfThePage, ...intoThePage], []);
});

test("what is bundled is a dependency by its own name", () => {
	const manifest = JSON.parse(readFileSync(join(CLIENT, "package.json"), "utf8")) as {
		readonly dependencies: Readonly<Record<string, string>>;
	};
	const declared = new Set(Object.keys(manifest.dependencies));
	const undeclared = offences(
		() => true,
		(name) => isFile(name) || name === "vscode" || name.startsWith("node:") || declared.has(packageOf(name)),
	);

	assert.deepEqual(undeclared, []);
});

test("highlight.js is bundled by the language, not with all its two hundred", () => {
	const wrong = offences(
		() => true,
		(name) => packageOf(name) !== "highlight.js" || /^highlight\.js\/lib\/(core|languages\/[\w-]+)$/.test(name),
	);

	assert.deepEqual(wrong, []);
});

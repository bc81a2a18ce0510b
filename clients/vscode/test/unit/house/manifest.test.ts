import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { CLIENT } from "../../paths.ts";

const MANIFEST = JSON.parse(readFileSync(join(CLIENT, "package.json"), "utf8")) as {
	readonly engines: { readonly vscode: string };
	readonly contributes: unknown;
	readonly devDependencies: Readonly<Record<string, string>>;
};

const README = readFileSync(join(CLIENT, "README.md"), "utf8");

/** Every value of a field with this name, however deep. */
function valuesOf(field: string, within: unknown): readonly string[] {
	if (typeof within !== "object" || within === null) return [];
	return Object.entries(within).flatMap(([name, value]) =>
		name === field && typeof value === "string" ? [value] : valuesOf(field, value),
	);
}

/** What stands at `contributes.NAME`, if anything does. */
function contributed(name: string): unknown {
	return Object.entries(MANIFEST.contributes ?? {}).find(([each]) => each === name)?.[1];
}

const COMMANDS = valuesOf("command", contributed("commands"));
const VIEWS = valuesOf("id", contributed("views"));

/** Built into the editor, not part of another extension. */
const OF_THE_EDITOR = /^(?:workbench|vscode|editor)\./;

test("a command is declared once, and what a menu, a key or a link names is declared", () => {
	const links = [...JSON.stringify(MANIFEST).matchAll(/\(command:([\w.-]+)/g)].map((match) => match[1] ?? "");
	const used = [
		...valuesOf("command", contributed("menus")),
		...valuesOf("command", contributed("keybindings")),
		...links,
	];

	assert.deepEqual(COMMANDS.toSorted(), [...new Set(COMMANDS)].toSorted());
	assert.deepEqual(
		used.filter((name) => !COMMANDS.includes(name) && !OF_THE_EDITOR.test(name)),
		[],
	);
});

test("a condition names views that there are", () => {
	const conditions = [...valuesOf("when", MANIFEST.contributes), ...valuesOf("enablement", MANIFEST.contributes)];
	const named = conditions.flatMap((condition) =>
		[...condition.matchAll(/\b(?:view|focusedView) *==+ *'?([\w.-]+)/g)].map((match) => match[1] ?? ""),
	);

	assert.deepEqual(
		named.filter((name) => name.startsWith("pygent") && !VIEWS.includes(name)),
		[],
	);
});

test("the chat is in the secondary side bar of every editor that is admitted, without a condition", () => {
	const [, oldest = ""] = /^\^(1\.\d+\.0)$/.exec(MANIFEST.engines.vscode) ?? [];

	assert.ok(Number(oldest.split(".")[1]) >= 106, "older editors have no place for views there");
	assert.equal(MANIFEST.devDependencies["@types/vscode"], oldest);
	assert.match(
		README,
		new RegExp(`^VS Code ${oldest.replace(/\.0$/, "").replace(".", "\\.")} or newer is required.$`, "m"),
	);
	assert.deepEqual(contributed("viewsContainers"), {
		secondarySidebar: [{ id: "pygent", title: "pygent", icon: "media/pygent.svg" }],
	});
	assert.deepEqual(contributed("views"), {
		pygent: [{ type: "webview", id: "pygent.chat", name: "Chat", icon: "media/pygent.svg" }],
	});
});

test("what the extension asks of the editor is its own: every name begins with pygent", () => {
	const settings = [...JSON.stringify(contributed("configuration") ?? {}).matchAll(/"(\w+\.[\w.]+)":\{/g)].map(
		(match) => match[1] ?? "",
	);

	assert.deepEqual(
		[...COMMANDS, ...VIEWS, ...settings].filter((name) => !name.startsWith("pygent.")),
		[],
	);
});

import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { CLIENT } from "../paths.ts";

interface Entry {
	readonly command?: string;
	readonly submenu?: string;
	readonly when?: string;
}

const MANIFEST = JSON.parse(readFileSync(join(CLIENT, "package.json"), "utf8")) as {
	readonly capabilities: {
		readonly untrustedWorkspaces: { readonly supported: unknown; readonly description: string };
	};
	readonly contributes: {
		readonly commands: readonly { readonly command: string; readonly title: string; readonly category: string }[];
		readonly menus: Readonly<Record<string, readonly Entry[]>>;
		readonly keybindings: readonly Entry[];
		readonly submenus: readonly { readonly id: string }[];
		readonly walkthroughs: readonly {
			readonly steps: readonly {
				readonly description: string;
				readonly media: { readonly markdown: string };
				readonly completionEvents: readonly string[];
			}[];
		}[];
	};
};
const { commands, menus, keybindings, submenus, walkthroughs } = MANIFEST.contributes;
const COMMANDS = new Set(commands.map(({ command }) => command));
const SOURCES = globSync("src/**/*.ts", { cwd: CLIENT }).map((path) => readFileSync(join(CLIENT, path), "utf8"));

test("menus, keys and the walkthrough name commands that there are", () => {
	const used = [
		...Object.values(menus)
			.flat()
			.flatMap(({ command }) => (command === undefined ? [] : [command])),
		...keybindings.flatMap(({ command }) => (command === undefined ? [] : [command])),
		...walkthroughs
			.flatMap(({ steps }) => steps)
			.flatMap(({ description, completionEvents }) => [
				...[...description.matchAll(/\(command:([\w.]+)\)/g)].map((match) => match[1] ?? ""),
				...completionEvents.flatMap((each) => (each.startsWith("onCommand:") ? [each.slice("onCommand:".length)] : [])),
			]),
	];

	assert.ok(used.length > 30);
	assert.deepEqual(
		used.filter((command) => !COMMANDS.has(command)),
		[],
	);
});

test("every submenu is filled and used", () => {
	for (const { id } of submenus) {
		assert.ok(menus[id] !== undefined, id);
		assert.ok(
			Object.values(menus)
				.flat()
				.some(({ submenu }) => submenu === id),
			id,
		);
	}
});

test("every command is found by the name of the extension", () => {
	for (const { command, category, title } of commands) {
		assert.equal(category, "pygent", command);
		assert.match(title, /^[A-Z]/, command);
	}
});

test("conditions look only at what the extension sets", () => {
	const text = JSON.stringify(MANIFEST.contributes);
	const named = new Set(
		[...text.matchAll(/\bpygent\.(is\w+|has\w+|changedFiles|proposals|shows\w+)\b/g)].map((match) => match[1] ?? ""),
	);
	const isSet = (name: string): boolean =>
		SOURCES.some((source) => new RegExp(`set\\("${name}"|"setContext", "pygent\\.${name}"`).test(source));

	assert.ok(named.size >= 3);
	assert.deepEqual(
		[...named].filter((name) => !isSet(name)),
		[],
	);
});

test("each step of the walkthrough has its page", () => {
	for (const { media } of walkthroughs.flatMap(({ steps }) => steps)) {
		assert.ok(existsSync(join(CLIENT, media.markdown)), media.markdown);
	}
});

test("a workspace that is not trusted is opened, and it is said what then is not done", () => {
	const { supported, description } = MANIFEST.capabilities.untrustedWorkspaces;

	assert.equal(supported, "limited");
	assert.match(description, /does not start .* runs nothing and downloads nothing/);
});

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type DocumentedManifest, withTables } from "../../../scripts/readme_tables.ts";
import { shippedReadme } from "../../../scripts/shipped_readme.ts";
import { CLIENT } from "../../paths.ts";

const README = readFileSync(join(CLIENT, "README.md"), "utf8");
const MANIFEST = JSON.parse(readFileSync(join(CLIENT, "package.json"), "utf8")) as DocumentedManifest & {
	readonly version: string;
};
const { commands, keybindings, configuration } = MANIFEST.contributes;
const SETTINGS = configuration.flatMap(({ properties }) => Object.keys(properties));

test("the README's tables are those of the manifest", () => {
	assert.equal(withTables(README, MANIFEST), README);
	for (const { command } of commands) assert.match(README, new RegExp(`^\\| pygent: .* \\| \`${command}\` \\|$`, "m"));
	for (const { key } of keybindings) assert.ok(README.toLowerCase().includes(`\`${key}\``), key);
	for (const name of SETTINGS) assert.match(README, new RegExp(`^\\| \`${name}\` \\| \`.+\` \\| .+\\. \\|$`, "m"));
});

test("what the text names of commands and settings is in the manifest", () => {
	const titles = [...README.matchAll(/\*pygent: ([^*]+)\*/g)].map((match) => match[1] ?? "");
	const names = [...README.matchAll(/`(pygent\.[\w.]+)`/g)].map((match) => match[1] ?? "");

	assert.ok(titles.length > 8);
	assert.deepEqual(
		titles.filter((title) => !commands.some((each) => each.title === title)),
		[],
	);
	assert.deepEqual(
		names.filter((name) => !SETTINGS.includes(name) && !commands.some(({ command }) => command === name)),
		[],
	);
	assert.match(README, new RegExp(`pygent-ls-${MANIFEST.version.replaceAll(".", "\\.")}\\.vsix`));
});

test("a description is told by its first sentence, and a long one without what it lists", () => {
	const described = (markdownDescription: string): string => {
		const property = { default: [1], markdownDescription };
		const contributes = { commands: [], keybindings: [], configuration: [{ title: "", properties: { a: property } }] };
		return withTables("<!-- commands -->\n<!-- /commands -->\n<!-- settings -->\n<!-- /settings -->\n", {
			contributes,
		});
	};
	const list = "`one` where there is one, ".repeat(8);

	assert.match(
		described("In `a.toml: x`, 0.5 of it. More."),
		/\| `a` \| `\[1\]` \| In `a\.toml: x`, 0\.5 of it\. \|\n/,
	);
	assert.match(described(`What is done: ${list}`), /\| What is done\. \|\n/);
	assert.match(described("`a | b`: either. More."), /\| `a \\\| b`: either\. \|\n/);
	assert.throws(() => withTables("# No place\n", MANIFEST), /no <!-- commands -->/);
});

test("pictures of the repository are shipped, and of links into it the words stay", () => {
	const { text, images } = shippedReadme("![A](../../docs/images/a.png) [b](../../docs/b.md#c) [d](#e) [f](https://g)");

	assert.equal(text, "![A](images/a.png) b [d](#e) [f](https://g)");
	assert.deepEqual([...images], [["a.png", "../../docs/images/a.png"]]);
});

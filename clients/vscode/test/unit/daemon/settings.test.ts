import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { daemonSettings, nested } from "../../../src/daemon/settings.ts";
import { CLIENT, REPOSITORY } from "../../paths.ts";

interface Setting {
	readonly type: string | readonly string[];
	readonly default: unknown;
	readonly scope?: string;
	readonly description?: string;
	readonly markdownDescription?: string;
	readonly enum?: readonly string[];
	readonly enumDescriptions?: readonly string[];
}

const MANIFEST = JSON.parse(readFileSync(join(CLIENT, "package.json"), "utf8")) as {
	readonly contributes: {
		readonly configuration: readonly { readonly properties: Readonly<Record<string, Setting>> }[];
	};
};
const SETTINGS = Object.fromEntries(
	MANIFEST.contributes.configuration.flatMap(({ properties }) => Object.entries(properties)),
);

/** The daemon's own settings, by their names in an editor, with their defaults as its page shows them. */
const OF_THE_DAEMON = new Map(
	readFileSync(join(REPOSITORY, "docs/configuration.md"), "utf8")
		.split("\n### ")
		.slice(1)
		.map((section) => [
			/editor: `([\w.]+)`/.exec(section)?.[1] ?? "",
			JSON.parse(/^- default: `(.*)`$/m.exec(section)?.[1] ?? "null") as unknown,
		]),
);

/** What makes no sense in this editor. */
const LEFT_OUT: Readonly<Record<string, string>> = {
	allowBypass: "counts in the user's own file alone",
	"edits.review": "this extension has a review of its own",
	streamFlushMs: "for measurements",
	cacheEntries: "for measurements",
};

test("no setting can come from a repository: all are of the machine", () => {
	const others = Object.entries(SETTINGS).filter(([, { scope }]) => scope !== "machine" && scope !== "application");

	assert.deepEqual(
		others.map(([name]) => name),
		[],
	);
});

test("every setting of the daemon can be set here, or it is said why not", () => {
	const here = daemonSettings(Object.keys(SETTINGS));

	assert.ok(OF_THE_DAEMON.size > 40);
	assert.deepEqual([...here, ...Object.keys(LEFT_OUT)].sort(), [...OF_THE_DAEMON.keys()].sort());
});

test("a default that is shown is the daemon's", () => {
	const wrong = daemonSettings(Object.keys(SETTINGS)).filter((name) => {
		const shown = SETTINGS[`pygent.${name}`]?.default;
		return name !== "permissions" && JSON.stringify(shown) !== JSON.stringify(OF_THE_DAEMON.get(name));
	});

	assert.deepEqual(wrong, []);
});

test("every setting is described, and so is each of its choices", () => {
	for (const [name, setting] of Object.entries(SETTINGS)) {
		const text = setting.markdownDescription ?? setting.description ?? "";
		assert.match(text, /^[A-Z].*[.)]$/s, name);
		assert.equal(setting.enumDescriptions?.length, setting.enum?.length, name);
	}
});

test("the extension's own settings are not sent to the daemon", () => {
	const names = ["pygent.model", "pygent.server.path", "pygent.trace", "pygent.review", "pygent.context.mode"];

	assert.deepEqual(daemonSettings(names), ["model", "context.mode"]);
});

test("what the user set is sent in the daemon's shape, and nothing else", () => {
	assert.deepEqual(
		nested({
			model: "openai/gpt-5",
			temperature: undefined,
			"context.mode": "sliding",
			"context.slidingMessages": 10,
			models: { "openai/my.model": { contextLimit: 1 } },
		}),
		{
			model: "openai/gpt-5",
			context: { mode: "sliding", slidingMessages: 10 },
			models: { "openai/my.model": { contextLimit: 1 } },
		},
	);
});

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { CLIENT, REPOSITORY } from "../../paths.ts";
import { importsOf, sourcesIn } from "./sources.ts";

const MOST_LINES = 400;
const MOST_MODULES = 15;

test("no file is too long to be read in one go", () => {
	const long = sourcesIn("src", "scripts")
		.filter(({ generated }) => !generated)
		.map(({ path, text }) => ({ path, lines: text.trimEnd().split("\n").length }))
		.filter(({ lines }) => lines > MOST_LINES);

	assert.deepEqual(long, []);
});

test("text becomes HTML only where the sanitiser is", () => {
	const makesHtml =
		/\b(?:innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|createContextualFragment|parseFromString|srcdoc)\b|document\.write/;
	const wrong = sourcesIn("src/webview")
		.filter((source) => makesHtml.test(source.text) && !importsOf(source).includes("dompurify"))
		.map(({ path }) => path);

	assert.deepEqual(wrong, []);
});

test("a file is named after what it holds", () => {
	const vague =
		/(?:^|\/)(?:utils?|helpers?|common|manager|base|types|misc|(?!thinking|painting)\w+ing)\.(?:test\.)?[a-z]+$/;

	assert.deepEqual(
		sourcesIn("src", "scripts", "test")
			.map(({ path }) => path)
			.filter((path) => vague.test(path)),
		[],
	);
});

test("no folder holds more modules than a reader takes in", () => {
	const folders = Map.groupBy(sourcesIn("src", "scripts", "test"), ({ path }) => dirname(path));
	const full = [...folders].filter(([, { length }]) => length > MOST_MODULES).map(([folder]) => folder);

	assert.deepEqual(full, []);
});

test("the client and the package it carries have one version", () => {
	const manifest = JSON.parse(readFileSync(join(CLIENT, "package.json"), "utf8")) as { readonly version: string };
	const lock = JSON.parse(readFileSync(join(CLIENT, "package-lock.json"), "utf8")) as { readonly version: string };
	const python = /^__version__ = "(.+)"$/m.exec(readFileSync(join(REPOSITORY, "pygent_ls/__init__.py"), "utf8"));

	assert.deepEqual({ manifest: manifest.version, lock: lock.version }, { manifest: python?.[1], lock: python?.[1] });
});

test("every package is asked for in one exact version, and installs without running code", () => {
	const manifest = JSON.parse(readFileSync(join(CLIENT, "package.json"), "utf8")) as {
		readonly dependencies: Readonly<Record<string, string>>;
		readonly devDependencies: Readonly<Record<string, string>>;
	};
	const versions = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies });

	assert.deepEqual(
		versions.filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version)),
		[],
	);
	assert.match(readFileSync(join(CLIENT, ".npmrc"), "utf8"), /^ignore-scripts=true$/m);
});

test("of every package it is said why it is there", () => {
	const manifest = JSON.parse(readFileSync(join(CLIENT, "package.json"), "utf8")) as {
		readonly dependencies: Readonly<Record<string, string>>;
	};
	const page = readFileSync(join(REPOSITORY, "docs/decisions/074-dependencies.md"), "utf8");
	const [, section = ""] = page.split("## The VS Code client");
	const [table = ""] = section.split("\nFor development");
	const rows = [...table.matchAll(/^\| (?!library|---)([^|]+?) \|/gm)].flatMap((match) => match[1]?.split(", ") ?? []);

	const missing = Object.keys(manifest.dependencies).filter((name) => !rows.includes(name));
	assert.deepEqual(missing, [], "add a row for it in docs/decisions/074-dependencies.md");
});

test("the lock file is whole: what another system needs is in it as well", () => {
	const lock = JSON.parse(readFileSync(join(CLIENT, "package-lock.json"), "utf8")) as {
		readonly packages: Readonly<Record<string, { readonly optionalDependencies?: Readonly<Record<string, string>> }>>;
	};
	const wanted = Object.values(lock.packages).flatMap(({ optionalDependencies }) =>
		Object.keys(optionalDependencies ?? {}),
	);

	assert.ok(wanted.length > 20, "a program for each system");
	assert.deepEqual(
		wanted.filter((name) => !(`node_modules/${name}` in lock.packages)),
		[],
	);
});

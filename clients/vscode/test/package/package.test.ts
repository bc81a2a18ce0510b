import assert from "node:assert/strict";
import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { CLIENT, PYTHON } from "../paths.ts";

const SCRATCH = mkdtempSync(join(tmpdir(), "pygent-package-test-"));
const VSIX = join(SCRATCH, "first.vsix");
const VERSION = (JSON.parse(readFileSync(join(CLIENT, "package.json"), "utf8")) as { readonly version: string })
	.version;

function packageInto(out: string, env: NodeJS.ProcessEnv = {}): SpawnSyncReturns<string> {
	return spawnSync(process.execPath, [join(CLIENT, "scripts/package.ts"), "--out", out], {
		encoding: "utf8",
		env: { ...process.env, ...env },
		timeout: 100_000,
	});
}

/** Runs a line of Python on an archive: `zipfile` is a reader of its own, and not the writer's. */
function ofArchive(expression: string, ...args: readonly string[]): string {
	const code = `import io, sys, zipfile; archive = zipfile.ZipFile(sys.argv[1]); print(${expression})`;
	const done = spawnSync(PYTHON, ["-c", code, VSIX, ...args], { encoding: "utf8", timeout: 30_000 });
	assert.equal(done.status, 0, done.stderr);
	return done.stdout.trim();
}

function names(): readonly string[] {
	return ofArchive('"\\n".join(sorted(archive.namelist()))').split("\n");
}

function textOf(name: string): string {
	return ofArchive("archive.read(sys.argv[2]).decode()", name);
}

before(() => {
	const made = packageInto(VSIX);
	assert.equal(made.status, 0, made.stderr);
});

after(() => rmSync(SCRATCH, { recursive: true, force: true }));

test("the archive holds the bundles, the wheel, the licences and the pages, and nothing else", () => {
	const expected = [
		/^\[Content_Types\]\.xml$/,
		/^extension\.vsixmanifest$/,
		/^extension\/(LICENSE\.txt|NOTICE|package\.json|readme\.md)$/,
		/^extension\/dist\/(codicon\.ttf|extension\.cjs|webview\.css|webview\.js)$/,
		/^extension\/media\/[\w/-]+\.(svg|png|md)$/,
		/^extension\/images\/[\w-]+\.png$/,
		/^extension\/wheel\/pygent_ls-[\d.]+-py3-none-any\.whl$/,
		/^extension\/wheel\/pins\.txt$/,
	];

	assert.deepEqual(
		names().filter((name) => !expected.some((each) => each.test(name))),
		[],
	);
	for (const each of [
		"NOTICE",
		"LICENSE.txt",
		"readme.md",
		"wheel/pins.txt",
		"dist/extension.cjs",
		"dist/webview.js",
		"dist/webview.css",
	]) {
		assert.ok(names().includes(`extension/${each}`), `${each} is missing: ${names().join(", ")}`);
	}
});

test("the wheel inside is the package of the same version, whole", () => {
	const wheel = `extension/wheel/pygent_ls-${VERSION}-py3-none-any.whl`;
	const inside = ofArchive('"\\n".join(zipfile.ZipFile(io.BytesIO(archive.read(sys.argv[2]))).namelist())', wheel);

	assert.ok(inside.split("\n").includes("pygent_ls/cli/main.py"), inside);
});

test("beside the wheel are the versions that it was tested with, of all that it needs", () => {
	const pinned = new Set([...textOf("extension/wheel/pins.txt").matchAll(/^([\w-]+)==/gm)].map((match) => match[1]));
	const wheel = `extension/wheel/pygent_ls-${VERSION}-py3-none-any.whl`;
	const metadata = `pygent_ls-${VERSION}.dist-info/METADATA`;
	const inside = ofArchive(
		"zipfile.ZipFile(io.BytesIO(archive.read(sys.argv[2]))).read(sys.argv[3]).decode()",
		wheel,
		metadata,
	);
	const needed = [...inside.matchAll(/^Requires-Dist: ([\w-]+)(?!.*; extra)/gm)].map((match) => match[1] ?? "");

	assert.ok(needed.includes("litellm"));
	assert.deepEqual(
		needed.filter((name) => !pinned.has(name)),
		[],
	);
});

test("the README that is shipped leads to nothing outside of the archive", () => {
	const links = [...textOf("extension/readme.md").matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1] ?? "");

	assert.deepEqual(
		links.filter((link) => !/^(?:https:\/\/|#)/.test(link) && !names().includes(`extension/${link}`)),
		[],
	);
});

test("every file that the manifest names is in the archive", () => {
	const manifest = textOf("extension/package.json");
	const named = [...manifest.matchAll(/"\.?\/?((?:dist|media)\/[^"]+)"/g)].map((match) => `extension/${match[1]}`);

	assert.ok(named.includes("extension/dist/extension.cjs"));
	assert.deepEqual(
		named.filter((name) => !names().includes(name)),
		[],
	);
});

test("the manifest that is shipped asks for nothing to be installed or run", () => {
	const manifest = JSON.parse(textOf("extension/package.json")) as Readonly<Record<string, unknown>>;

	assert.deepEqual(
		["dependencies", "devDependencies", "scripts"].filter((field) => field in manifest),
		[],
	);
	assert.equal(manifest["version"], VERSION);
});

test("the licences of what is bundled are told, and of nothing else", () => {
	const notice = textOf("extension/NOTICE");

	for (const name of ["react", "react-dom", "vscode-languageclient", "vscode-jsonrpc", "@vscode/codicons"]) {
		assert.match(notice, new RegExp(`^${name} \\d+\\.\\d+\\.\\d+\\S* \\(\\S+\\)$`, "m"));
	}
	assert.doesNotMatch(notice, /^(esbuild|typescript|playwright-core|@types\/\S+) \d/m);
});

test("the page asks no other machine for anything", () => {
	assert.doesNotMatch(textOf("extension/dist/webview.css"), /url\(["']?(?:https?:)?\/\//);
	assert.doesNotMatch(textOf("extension/dist/webview.css"), /@import/);
});

test("what is loaded at every start stays small", () => {
	const kilobytes = (name: string) =>
		Math.round(Number(ofArchive("archive.getinfo(sys.argv[2]).file_size", name)) / 1000);
	const sizes = { host: kilobytes("extension/dist/extension.cjs"), page: kilobytes("extension/dist/webview.js") };

	assert.ok(sizes.host < 700 && sizes.page < 800, `see what has come in: ${JSON.stringify(sizes)}`);
	assert.ok(
		statSync(VSIX).size < 2_500_000,
		`${statSync(VSIX).size}: a language server's client is downloaded at once`,
	);
});

test("the same sources make the same bytes", () => {
	const again = join(SCRATCH, "second.vsix");
	const made = packageInto(again);

	assert.equal(made.status, 0, made.stderr);
	assert.ok(readFileSync(again).equals(readFileSync(VSIX)));
});

test("without the Python side it is said what is missing, and nothing is left behind", () => {
	const out = join(SCRATCH, "third.vsix");
	const made = packageInto(out, { PYTHON: join(SCRATCH, "no-python") });

	assert.equal(made.status, 1);
	assert.match(made.stderr, /^the wheel of the Python package cannot be built: .*no-python is missing .* set PYTHON/);
	assert.doesNotMatch(made.stderr, /\n\s+at /);
	assert.ok(!existsSync(out));
});

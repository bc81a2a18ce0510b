import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Metafile } from "esbuild";
import { bundledPackage, noticeText, packageFolders } from "../../../scripts/notice.ts";

/** A bundle of which each input has so many bytes in the output. */
function bundleOf(inputs: Readonly<Record<string, number>>): Metafile {
	const entries = Object.entries(inputs).map(([path, bytesInOutput]) => [path, { bytesInOutput }] as const);
	return {
		inputs: {},
		outputs: {
			"dist/page.js": { bytes: 1, inputs: Object.fromEntries(entries), imports: [], exports: [] },
		},
	};
}

/** A folder with packages in it, for as long as `look` takes. */
function withPackages(files: Readonly<Record<string, string>>, look: (root: string) => void): void {
	const root = mkdtempSync(join(tmpdir(), "pygent-notice-test-"));
	try {
		for (const [path, text] of Object.entries(files)) {
			mkdirSync(join(root, path, ".."), { recursive: true });
			writeFileSync(join(root, path), text);
		}
		look(root);
	} finally {
		rmSync(root, { recursive: true, force: true });
	}
}

test("a package is told of once, whichever bundle it is in, and not where all of it was shaken off", () => {
	const host = bundleOf({ "src/a.ts": 9, "node_modules/semver/index.js": 5, "node_modules/unused/index.js": 0 });
	const page = bundleOf({
		"node_modules/semver/other.js": 5,
		"node_modules/@vscode/codicons/dist/codicon.css": 7,
		"node_modules/outer/node_modules/inner/index.js": 1,
	});

	assert.deepEqual(packageFolders([host, page]), [
		"node_modules/@vscode/codicons",
		"node_modules/outer/node_modules/inner",
		"node_modules/semver",
	]);
});

test("the notice has every licence whole, under the name and version it is for", () => {
	const files = {
		"node_modules/first/package.json": '{ "name": "first", "version": "1.2.3", "license": "MIT" }',
		"node_modules/first/LICENSE": "Do what you like.\n",
		"node_modules/second/package.json": '{ "name": "second", "version": "0.1.0", "license": "(A OR B)" }',
		"node_modules/second/LICENSE-A": "As A says.",
		"node_modules/second/license.md": "As B says.",
	};
	withPackages(files, (root) => {
		const text = noticeText(["first", "second"].map((name) => bundledPackage(root, `node_modules/${name}`)));

		assert.match(text, /\n\nfirst 1\.2\.3 \(MIT\)\n\nDo what you like\.\n\n-{80}\n\n/);
		assert.match(text, /\n\nsecond 0\.1\.0 \(\(A OR B\)\)\n\nAs A says\.\n\nAs B says\.\n$/);
	});
});

test("a package that does not say its licence is not passed on", () => {
	const files = {
		"node_modules/silent/package.json": '{ "name": "silent", "version": "1.0.0", "license": "MIT" }',
		"node_modules/unnamed/package.json": '{ "name": "unnamed", "version": "1.0.0" }',
		"node_modules/unnamed/LICENSE": "Do what you like.",
	};
	withPackages(files, (root) => {
		assert.throws(() => bundledPackage(root, "node_modules/silent"), /silent 1\.0\.0 has no licence file/);
		assert.throws(
			() => bundledPackage(root, "node_modules/unnamed"),
			/unnamed 1\.0\.0 has no licence in package\.json/,
		);
	});
});

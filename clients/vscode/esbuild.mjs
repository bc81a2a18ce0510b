// @ts-check
/**
 * Bundles the extension and its panel into `dist/`.
 *
 * `--watch` builds again on every change; `--production` leaves out source maps and white space.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import * as esbuild from "esbuild";

const root = import.meta.dirname;
const { values: flags } = parseArgs({
	options: { watch: { type: "boolean", default: false }, production: { type: "boolean", default: false } },
});

/** @type {esbuild.BuildOptions} */
const shared = {
	absWorkingDir: root,
	bundle: true,
	minify: flags.production,
	sourcemap: !flags.production,
	define: { "process.env.NODE_ENV": flags.production ? '"production"' : '"development"' },
	legalComments: "none",
	logLevel: "info",
};

/** @type {esbuild.BuildOptions} */
const extension = {
	...shared,
	entryPoints: { extension: "src/extension.ts" },
	outdir: "dist",
	outExtension: { ".js": ".cjs" },
	platform: "node",
	format: "cjs",
	// The oldest editor that `engines` admits runs extensions in Node 20.
	target: "node20",
	// `module` first would pick a package's browser build where it has one.
	mainFields: ["main", "module"],
	external: ["vscode"],
};

/** @type {esbuild.BuildOptions} */
const webview = {
	...shared,
	entryPoints: { webview: "src/webview/main.tsx" },
	outdir: "dist",
	platform: "browser",
	format: "iife",
	target: "chrome132",
	jsx: "automatic",
	loader: { ".ttf": "file" },
	assetNames: "[name]",
};

await rm(join(root, "dist"), { recursive: true, force: true });
if (flags.watch) {
	for (const options of [extension, webview]) {
		const context = await esbuild.context(options);
		await context.watch();
	}
} else {
	await Promise.all([esbuild.build(extension), esbuild.build(webview)]);
}

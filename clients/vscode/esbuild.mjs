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
import { bundles } from "./scripts/bundles.ts";

const { values: flags } = parseArgs({
	options: { watch: { type: "boolean", default: false }, production: { type: "boolean", default: false } },
});
const outdir = join(import.meta.dirname, "dist");
const both = Object.values(bundles({ production: flags.production, outdir }));

await rm(outdir, { recursive: true, force: true });
if (flags.watch) {
	for (const options of both) {
		const context = await esbuild.context({ ...options, logLevel: "info" });
		await context.watch();
	}
} else {
	await Promise.all(both.map((options) => esbuild.build({ ...options, logLevel: "info" })));
}

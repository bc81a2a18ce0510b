/** Makes the tables of README.md anew from package.json; `--check` only says whether they are stale. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type DocumentedManifest, withTables } from "./readme_tables.ts";

const CLIENT = join(import.meta.dirname, "..");
const README = join(CLIENT, "README.md");

const { values: flags } = parseArgs({ options: { check: { type: "boolean", default: false } } });
const before = readFileSync(README, "utf8");
const manifest = JSON.parse(readFileSync(join(CLIENT, "package.json"), "utf8")) as DocumentedManifest;
const after = withTables(before, manifest);
if (!flags.check) {
	writeFileSync(README, after);
} else if (before !== after) {
	console.error("README.md is stale: run `npm run generate` in clients/vscode");
	process.exitCode = 1;
}

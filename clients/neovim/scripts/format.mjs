/**
 * Formats the plugin's Lua with StyLua, as stylua.toml says; `--check` only names the files that are not formatted.
 * `.ci/stylua/install` brings StyLua. Of stylua.toml it reads `name = value` lines, which is all that stands there.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, relative } from "node:path";

const PLUGIN = join(import.meta.dirname, "..");
const stylua = createRequire(join(PLUGIN, "../../build/stylua/"))("@johnnymorganz/stylua");

/** The enumerations of StyLua's own names, by the setting that takes one. */
const ENUMERATIONS = { indent_type: stylua.IndentType, quote_style: stylua.QuoteStyle };

function configured() {
	const config = stylua.Config.new();
	for (const [, name, value] of readFileSync(join(PLUGIN, "stylua.toml"), "utf8").matchAll(/^(\w+) = (.+)$/gm)) {
		const plain = JSON.parse(value);
		config[name] = ENUMERATIONS[name]?.[plain] ?? plain;
	}
	config.syntax = stylua.LuaVersion.LuaJIT;
	return config;
}

let nStale = 0;
const [first, ...rest] = process.argv.slice(2);
const isCheck = first === "--check";
const folder = (isCheck ? rest[0] : first) ?? PLUGIN;
for (const name of readdirSync(folder, { recursive: true }).sort()) {
	if (!name.endsWith(".lua")) {
		continue;
	}
	const path = join(folder, name);
	const before = readFileSync(path, "utf8");
	const after = stylua.formatCode(before, configured(), undefined, stylua.OutputVerification.Full);
	if (after === before) {
		continue;
	}
	nStale += 1;
	if (isCheck) {
		console.error(`${relative(process.cwd(), path)} is not formatted`);
	} else {
		writeFileSync(path, after);
	}
}
process.exitCode = isCheck && nStale > 0 ? 1 : 0;

/**
 * Writes `src/protocol/protocol.ts` from the daemon's `docs/protocol.schema.json`; `--check` only says whether it is
 * stale.
 *
 * Own code and no library, since the names are the point: the daemon marks what it sends with `Out`, has two
 * descriptions of one LSP range, and does not say that the members of `Event` are events.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { protocolSource, type WireSchema } from "./protocol_source.ts";

const SCHEMA = join(import.meta.dirname, "../../../docs/protocol.schema.json");
const TARGET = join(import.meta.dirname, "../src/protocol/protocol.ts");

const { values: flags } = parseArgs({ options: { check: { type: "boolean", default: false } } });
const source = protocolSource(JSON.parse(readFileSync(SCHEMA, "utf8")) as WireSchema);
if (!flags.check) {
	writeFileSync(TARGET, source);
} else if (readFileSync(TARGET, "utf8") !== source) {
	console.error("src/protocol/protocol.ts is stale: run `npm run generate` in clients/vscode");
	process.exitCode = 1;
}

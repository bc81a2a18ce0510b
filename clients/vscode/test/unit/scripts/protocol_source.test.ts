import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { protocolSource, type Schema, type WireSchema } from "../../../scripts/protocol_source.ts";
import type { ClientRequests, Event, Requests } from "../../../src/protocol/protocol.ts";
import { CLIENT, REPOSITORY } from "../../paths.ts";

const SCHEMA = JSON.parse(readFileSync(join(REPOSITORY, "docs/protocol.schema.json"), "utf8")) as WireSchema;
const COMMITTED = readFileSync(join(CLIENT, "src/protocol/protocol.ts"), "utf8");

function withDefinition(name: string, definition: Schema): WireSchema {
	return { ...SCHEMA, $defs: { ...SCHEMA.$defs, [name]: definition } };
}

test("the committed types are those of the daemon's schema", () => {
	assert.equal(COMMITTED, protocolSource(SCHEMA), "run `npm run generate`");
});

test("every method has its types, in both directions", () => {
	const methods = [SCHEMA.requests, SCHEMA.clientRequests, SCHEMA.clientNotifications, SCHEMA.commands].flatMap(
		(each) => Object.keys(each),
	);

	assert.deepEqual(
		methods.filter((method) => !COMMITTED.includes(`"${method}":`)),
		[],
	);
	assert.match(COMMITTED, /"\$\/progress": \{ readonly token: string \| number; readonly value: Events \}/);
});

test("no type is named in the daemon's own way", () => {
	assert.deepEqual(COMMITTED.match(/\b\w+Out\b/g), null);
});

test("a field that may be left out is optional, and null only where the wire has null", () => {
	const source = protocolSource(
		withDefinition("TemperatureOut", {
			description: "How warm it is.",
			type: "object",
			properties: {
				degrees: { type: "number" },
				place: { anyOf: [{ type: "string" }, { type: "null" }] },
				readings: { type: "array", items: { anyOf: [{ type: "integer" }, { type: "null" }] } },
			},
			required: ["degrees"],
		}),
	);

	const expected = [
		"/** How warm it is. */",
		"export interface Temperature {",
		"\treadonly degrees: number;",
		"\treadonly place?: string | null;",
		"\treadonly readings?: ReadonlyArray<number | null>;",
		"}",
	];
	assert.ok(source.includes(expected.join("\n")), source);
});

test("two types that would share a name are an error, not one of the two", () => {
	const session: Schema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };

	assert.throws(() => protocolSource(withDefinition("WireSession", session)), /would be called Session/);
	assert.throws(() => protocolSource(withDefinition("StopReasonOut", session)), /would be called StopReason/);
});

test("what the generator does not know is an error, not a guess", () => {
	const odd: Schema = { type: "object", properties: { a: { type: "tuple" } } };
	const nameless: Schema = { type: "object", properties: { a: { type: "object", properties: {} } } };
	const dangling: Schema = { type: "object", properties: { a: { $ref: "#/$defs/Nowhere" } } };

	assert.throws(() => protocolSource(withDefinition("OddOut", odd)), /JSON Schema type tuple/);
	assert.throws(() => protocolSource(withDefinition("NamelessOut", nameless)), /has no name/);
	assert.throws(() => protocolSource(withDefinition("DanglingOut", dangling)), /does not define/);
});

test("a description cannot end the comment it stands in", () => {
	const source = protocolSource(withDefinition("GlobOut", { type: "object", description: "Of `src/**/*.ts`." }));

	assert.ok(source.includes("/** Of `src/**\\/*.ts`. */"), source);
});

test("the types hold where they are used: a request is typed by its method, an event by its type", () => {
	const start: Requests["pygent/turn/start"]["params"] = { prompt: "hello" };
	const asked: ClientRequests["pygent/question/request"]["result"] = { choice: "Yes" };
	// @ts-expect-error: a turn needs a prompt
	const empty: Requests["pygent/turn/start"]["params"] = {};
	const words = (event: Event): string => (event.type === "text" ? event.content : event.type);

	assert.deepEqual([start, asked, empty], [{ prompt: "hello" }, { choice: "Yes" }, {}]);
	assert.equal(words.length, 1);
});

/** TypeScript types of the wire protocol, generated from the daemon's JSON Schema. */

/** The part of JSON Schema that the daemon writes for the wire. Anything else is an error. */
export interface Schema {
	readonly $ref?: string;
	readonly type?: string;
	readonly const?: unknown;
	readonly enum?: readonly unknown[];
	readonly anyOf?: readonly Schema[];
	readonly oneOf?: readonly Schema[];
	readonly items?: Schema;
	readonly properties?: Readonly<Record<string, Schema>>;
	readonly required?: readonly string[];
	readonly additionalProperties?: boolean | Schema;
	readonly description?: string;
}

interface Exchange {
	readonly params: Schema;
	readonly result: Schema;
}

export interface WireSchema {
	readonly protocolVersion: number;
	readonly requests: Readonly<Record<string, Exchange>>;
	readonly clientRequests: Readonly<Record<string, Exchange>>;
	readonly notifications: Readonly<Record<string, Schema>>;
	readonly clientNotifications: Readonly<Record<string, Schema>>;
	readonly commands: Readonly<Record<string, Schema>>;
	readonly $defs: Readonly<Record<string, Schema>>;
}

/** Definitions whose own name is unclear outside the daemon. */
const RENAMED: Readonly<Record<string, string>> = {
	ModeOut: "SessionMode",
};

/** Unions that the schema repeats at each use: the name, its description, and a definition and field that use it. */
const UNIONS: readonly (readonly [name: string, meaning: string, definition: string, field: string])[] = [
	["Event", "An event of a turn, identified by `type`.", "EventsOut", "events"],
	["Item", "An item of a conversation, identified by `type`.", "PutOut", "item"],
	["PromptAttachment", "An attachment of a prompt: its location, without its content.", "PromptItemOut", "attachments"],
	["ToolStatus", "State of a tool call.", "ToolItemOut", "status"],
	["ContentBlock", "A part of a prompt.", "TurnStartParams", "prompt"],
	["MessageBlock", "A part of a message.", "MessageOut", "content"],
	["Mode", "Permission mode.", "ModeOut", "mode"],
	["StopReason", "Why a turn ended.", "FinishedOut", "stopReason"],
	["ToolKind", "Kind of tool.", "ToolCallOut", "kind"],
	["Risk", "Risk of a tool call.", "ToolCallOut", "risk"],
	["ChangeKind", "How a file changed.", "ChangeOut", "kind"],
	["PermissionAnswer", "Outcome of a permission request.", "PermissionOptionOut", "kind"],
	["ErrorType", "Kind of error of a model call.", "TurnErrorOut", "type"],
	["ExportFormat", "Format of a session export.", "SessionExportParams", "format"],
];

/** Readable names: of definitions by their schema name, of unions by their text. */
interface Names {
	readonly definitions: ReadonlyMap<string, string>;
	readonly unions: ReadonlyMap<string, string>;
}

function lastPart(ref: string): string {
	return ref.slice(ref.lastIndexOf("/") + 1);
}

/** The outermost union of a field's schema: `A | B` for `string | (A | B)[]`. */
function unionWithin(schema: Schema): Schema {
	const alternatives = schema.anyOf ?? schema.oneOf ?? [];
	const inner = schema.items ?? alternatives.find((one) => one.type === "array" || one.enum !== undefined);
	return inner === undefined ? schema : unionWithin(inner);
}

function unionAt(wire: WireSchema, name: string, field: string): Schema {
	const schema = wire.$defs[name]?.properties?.[field];
	if (schema === undefined) {
		throw new Error(`the schema has no ${name}.${field}: correct UNIONS in scripts/protocol_source.ts`);
	}
	return unionWithin(schema);
}

/**
 * The name of each definition: `SessionOut` becomes `Session`, `WireRange` and `RangeOut` become `Range`. Members of
 * the event union end in `Event`.
 */
function definitionNames(wire: WireSchema): ReadonlyMap<string, string> {
	const members = unionAt(wire, "EventsOut", "events").anyOf ?? [];
	const events = new Set(members.map((member) => lastPart(member.$ref ?? "")));
	return new Map(
		Object.keys(wire.$defs).map((name) => {
			const bare = RENAMED[name] ?? name.replace(/Out$/, "").replace(/^Wire/, "");
			return [name, events.has(name) && !bare.endsWith("Event") ? `${bare}Event` : bare] as const;
		}),
	);
}

function nameOf(ref: string, names: Names): string {
	const name = names.definitions.get(lastPart(ref));
	if (name === undefined) {
		throw new Error(`the schema refers to ${ref}, which it does not define`);
	}
	return name;
}

function typeOf(schema: Schema, names: Names): string {
	if (schema.$ref !== undefined) {
		return nameOf(schema.$ref, names);
	}
	if (schema.const !== undefined) {
		return JSON.stringify(schema.const);
	}
	const alternatives = schema.anyOf ?? schema.oneOf;
	const parts = schema.enum?.map((value) => JSON.stringify(value)) ?? alternatives?.map((one) => typeOf(one, names));
	if (parts !== undefined) {
		const union = [...new Set(parts)].join(" | ");
		return names.unions.get(union) ?? union;
	}
	return plainType(schema, names);
}

function plainType(schema: Schema, names: Names): string {
	switch (schema.type) {
		case "string":
		case "boolean":
		case "null":
			return schema.type;
		case "integer":
		case "number":
			return "number";
		case "array": {
			const item = typeOf(schema.items ?? {}, names);
			return /^\w+$/.test(item) ? `readonly ${item}[]` : `ReadonlyArray<${item}>`;
		}
		case "object":
			return mapType(schema, names);
		case undefined:
			return "unknown";
		default:
			throw new Error(`no TypeScript is known for the JSON Schema type ${schema.type}`);
	}
}

/** An inline object, which the daemon writes only for maps. */
function mapType(schema: Schema, names: Names): string {
	if (schema.properties !== undefined) {
		throw new Error(`an object with properties has no name: ${JSON.stringify(schema)}`);
	}
	const values = schema.additionalProperties;
	return `Readonly<Record<string, ${typeof values === "object" ? typeOf(values, names) : "unknown"}>>`;
}

function comment(text: string | undefined): string {
	if (text === undefined) {
		return "";
	}
	const lines = text.replaceAll("*/", "*\\/").split("\n");
	return lines.length === 1
		? `/** ${lines[0]} */\n`
		: ["/**", ...lines.map((line) => ` * ${line}`.trimEnd()), " */", ""].join("\n");
}

function interfaceOf(name: string, text: string | undefined, lines: readonly string[]): string {
	const body = lines.map((line) => `\treadonly ${line};\n`).join("");
	return `${comment(text)}export interface ${name} {\n${body}}\n`;
}

function definition(name: string, schema: Schema, names: Names): string {
	if (schema.type !== "object" || schema.additionalProperties !== undefined) {
		return `${comment(schema.description)}export type ${name} = ${typeOf(schema, names)};\n`;
	}
	const fields = Object.entries(schema.properties ?? {});
	if (fields.length === 0) {
		return `${comment(schema.description)}export type ${name} = Readonly<Record<string, never>>;\n`;
	}
	const required = new Set(schema.required);
	const lines = fields.map(([field, type]) => `${field}${required.has(field) ? "" : "?"}: ${typeOf(type, names)}`);
	return interfaceOf(name, schema.description, lines);
}

/** All definitions, each name once. Throws if two types get the same name. */
function definitions(wire: WireSchema, names: Names): readonly string[] {
	const taken = new Set(UNIONS.map(([name]) => name));
	const sources = new Map<string, string>();
	for (const [original, schema] of Object.entries(wire.$defs)) {
		const name = nameOf(original, names);
		const source = definition(name, schema, names);
		const known = sources.get(name);
		if (taken.has(name) || (known !== undefined && known !== source)) {
			throw new Error(`two types of the schema would be called ${name}: correct RENAMED in scripts/protocol_source.ts`);
		}
		sources.set(name, source);
	}
	return [...sources.values()];
}

function exchanges(name: string, text: string, methods: WireSchema["requests"], names: Names): string {
	const lines = Object.entries(methods).map(([method, { params, result }]) => {
		return `"${method}": { readonly params: ${typeOf(params, names)}; readonly result: ${typeOf(result, names)} }`;
	});
	return interfaceOf(name, text, lines);
}

function notices(name: string, text: string, methods: WireSchema["notifications"], names: Names): string {
	const lines = Object.entries(methods).map(([key, schema]) => {
		const [method = key] = key.split(" ");
		const params = typeOf(schema, names);
		// The schema has only the value of a `$/progress`; LSP defines the parameters around it.
		return method === "$/progress"
			? `"${method}": { readonly token: string | number; readonly value: ${params} }`
			: `"${method}": ${params}`;
	});
	return interfaceOf(name, text, lines);
}

/** The text of `protocol.ts`. */
export function protocolSource(wire: WireSchema): string {
	const bare: Names = { definitions: definitionNames(wire), unions: new Map() };
	const unions = UNIONS.map(([name, meaning, ...place]) => {
		return { name, meaning, members: typeOf(unionAt(wire, ...place), bare) };
	});
	const names: Names = { ...bare, unions: new Map(unions.map(({ name, members }) => [members, name])) };
	return [
		"// Generated from docs/protocol.schema.json by `npm run generate`: change the daemon, not this file.\n",
		`${comment("The protocol version of these types. The daemon returns its own in `initialize`.")}export const PROTOCOL_VERSION = ${wire.protocolVersion};\n`,
		...unions.map(({ name, meaning, members }) => {
			return `${comment(meaning)}export type ${name} =${members
				.split(" | ")
				.map((one) => `\n\t| ${one}`)
				.join("")};\n`;
		}),
		...definitions(wire, names),
		exchanges("Requests", "Requests of the editor to the daemon.", wire.requests, names),
		exchanges("ClientRequests", "Requests of the daemon to the editor.", wire.clientRequests, names),
		notices("Notifications", "Notifications of the daemon.", wire.notifications, names),
		notices("CommandResults", "Results of the commands of `workspace/executeCommand`.", wire.commands, names),
		notices("ClientNotifications", "Notifications of the editor.", wire.clientNotifications, names),
	].join("\n");
}

/** The daemon's settings as the user set them in the editor, in the shape that the daemon asks for. Pure. */

const SECTION = "pygent.";

/** Settings of the extension alone, which the daemon does not know. */
const OWN = /^pygent\.(?:server\..*|trace|review|editorTools)$/;

/** Names of the daemon's settings among those that the extension declares, such as `context.mode`. */
export function daemonSettings(declared: readonly string[]): readonly string[] {
	return declared
		.filter((name) => name.startsWith(SECTION) && !OWN.test(name))
		.map((name) => name.slice(SECTION.length));
}

export type Nested = { readonly [name: string]: unknown };

/** `{"context.mode": "fresh"}` as `{context: {mode: "fresh"}}`. What the user did not set (undefined) is left to the daemon. */
export function nested(values: Readonly<Record<string, unknown>>): Nested {
	let all: Nested = {};
	for (const [name, value] of Object.entries(values)) {
		if (value === undefined) continue;
		const [first = "", ...rest] = name.split(".");
		const inner = rest.join(".");
		const below = all[first];
		all = {
			...all,
			[first]: inner === "" ? value : { ...(isNested(below) ? below : {}), ...nested({ [inner]: value }) },
		};
	}
	return all;
}

function isNested(value: unknown): value is Nested {
	return typeof value === "object" && value !== null;
}

/** The client's sources as the house's tests see them. */
import { globSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { CLIENT } from "../../paths.ts";

/** Written by a script, and as long as the wire is wide. */
const GENERATED = new Set(["src/protocol/protocol.ts"]);

export interface Source {
	/** Path relative to the client's folder, with `/`. */
	readonly path: string;
	readonly text: string;
	readonly generated: boolean;
}

export function sourcesIn(...folders: readonly string[]): readonly Source[] {
	const paths = folders.flatMap((folder) => globSync(`${folder}/**/*.{ts,tsx,mts,css}`, { cwd: CLIENT }));
	return paths.sort().map((path) => ({
		path: path.replaceAll("\\", "/"),
		text: readFileSync(join(CLIENT, path), "utf8"),
		generated: GENERATED.has(path),
	}));
}

/** What a file imports: a package as it is named, a file of the client as its path from the client's folder. */
export function importsOf({ path, text }: Source): readonly string[] {
	const named = /^(?:import|export)\s+(?:[\w\s,{}*$]+\sfrom\s+)?"([^"]+)"/gm;
	const dynamic = /\b(?:import|require)\(\s*"([^"]+)"/g;
	const found = [...text.matchAll(named), ...text.matchAll(dynamic)].map((match) => match[1] ?? "");
	return found.map((name) => (name.startsWith(".") ? posix.join(posix.dirname(path), name) : name));
}

/** `react-dom/client` is of the package `react-dom`, `@vscode/codicons/dist/x` of `@vscode/codicons`. */
export function packageOf(name: string): string {
	return name
		.split("/")
		.slice(0, name.startsWith("@") ? 2 : 1)
		.join("/");
}

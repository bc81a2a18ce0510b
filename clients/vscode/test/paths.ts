/** Where things are that tests use, and folders of their own. */
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

export const CLIENT = join(import.meta.dirname, "..");
export const REPOSITORY = join(CLIENT, "../..");
export const PYTHON = join(REPOSITORY, ".venv/bin/python");
export const DAEMON = join(REPOSITORY, ".venv/bin/pygent-ls");

/** The code-server that `.ci/vscode` installs. */
export const WORKBENCH = join(REPOSITORY, "build/code-server/node_modules/code-server/out/node/entry.js");

/** The Chromium that `.ci/vscode` found. */
export function browserPath(): string {
	const file = join(REPOSITORY, "build/browser");
	const path = readFileSync(file, "utf8").trim();
	if (path === "") {
		throw new Error(`${file} names no browser: install chromium-headless-shell and run .ci/vscode`);
	}
	return path;
}

/** A folder of its own, in use until `Symbol.asyncDispose`. */
export class Scratch implements AsyncDisposable {
	readonly path: string;

	private constructor(path: string) {
		this.path = path;
	}

	static async create(): Promise<Scratch> {
		return new Scratch(await mkdtemp(join(tmpdir(), "pygent-vscode-")));
	}

	/** A folder below this one with these files, by their paths in it. */
	async folder(name: string, files: Readonly<Record<string, string>> = {}): Promise<string> {
		const folder = join(this.path, name);
		await mkdir(folder, { recursive: true });
		for (const [path, text] of Object.entries(files)) {
			await mkdir(dirname(join(folder, path)), { recursive: true });
			await writeFile(join(folder, path), text);
		}
		return folder;
	}

	async [Symbol.asyncDispose](): Promise<void> {
		// A process that is just ending may still write.
		await rm(this.path, { recursive: true, force: true, maxRetries: 10 });
	}
}

/** What a daemon writes to its standard error: handed on line by line, and the last of it kept, which says why it ended. */

import { open, stat } from "node:fs/promises";
import { Lines } from "./programs.ts";

const KEPT_LINES = 30;
const LOOK_MS = 300;
const CHUNK_BYTES = 64 * 1024;

/** Log levels of lines that report no problem. */
const AT_REST = /^[\d-]{10} [\d:,]+ (?:INFO|DEBUG) |^pygent-ls: listening at /;

/** The last lines that were written. */
export class StderrTail {
	readonly #log: (line: string) => void;
	#lines: readonly string[] = [];

	constructor(log: (line: string) => void) {
		this.#log = log;
	}

	take(line: string): void {
		this.#lines = [...this.#lines.slice(1 - KEPT_LINES), line];
		this.#log(line);
	}

	/**
	 * Returns the most informative line; empty if no line explains an exit. The last line of a traceback names its
	 * error.
	 */
	get telling(): string {
		const lines = this.#lines.filter((line) => !AT_REST.test(line));
		return (lines.findLast((line) => /\berror\b|^\w+Error:/i.test(line)) ?? lines.at(-1) ?? "").trim();
	}
}

/** Follows a file that a process writes to; the process keeps running when it is no longer read. */
export class FollowedFile {
	readonly #path: string;
	readonly #lines: Lines;
	readonly #timer: NodeJS.Timeout;
	#read: number;
	#reading: Promise<void> = Promise.resolve();

	/** Follows the file from a byte on. */
	constructor(path: string, from: number, take: (line: string) => void) {
		this.#path = path;
		this.#read = from;
		this.#lines = new Lines(take);
		this.#timer = setInterval(() => void this.#next(), LOOK_MS).unref();
	}

	/** Reads what is left. */
	async end(): Promise<void> {
		clearInterval(this.#timer);
		await this.#next();
		this.#lines.end();
	}

	#next(): Promise<void> {
		this.#reading = this.#reading.then(() => this.#readOn()).catch(() => undefined); // removed by somebody: nothing more comes
		return this.#reading;
	}

	async #readOn(): Promise<void> {
		const { size } = await stat(this.#path);
		if (size <= this.#read) return;
		await using file = await open(this.#path);
		const buffer = Buffer.alloc(CHUNK_BYTES);
		for (;;) {
			const { bytesRead } = await file.read(buffer, 0, CHUNK_BYTES, this.#read);
			if (bytesRead === 0) return;
			this.#read += bytesRead;
			this.#lines.take(buffer.toString("utf8", 0, bytesRead));
		}
	}
}

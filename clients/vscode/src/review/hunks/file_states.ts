/** How files stood after each edit and each decision: a restore may bring any of these states back. Pure. */

import type { PendingFile } from "./pending_file.ts";
import type { Rejection } from "./rejections.ts";

/** A deleted file as it was on the disk: its encoding, line endings and permissions are in no text. */
export interface RemovedFile {
	/** Base64; of a symbolic link, its target. */
	readonly bytes: string;
	/** Permission bits; null for a symbolic link, and if they are unknown. */
	readonly mode: number | null;
	readonly isLink: boolean;
}

/** A file with what it waits for. */
export interface Entry {
	readonly file: PendingFile;
	/** The session that made these edits: the last one that changed the file. */
	readonly sessionId: string;
	/** What the agent deleted; null where the file is there. */
	readonly removed: RemovedFile | null;
}

export interface State {
	readonly entry: Entry;
	/** The rejections in this file whose lines were gone then. */
	readonly standing: ReadonlySet<Rejection>;
}

/** Maximum number of states kept per file, newest first out last: a restore goes back some turns, seldom many. */
const MOST_OF_FILE = 16;

/**
 * Characters of all texts together. One takes at most two bytes, so this is 50 MB: the extension host, whose memory all
 * extensions share, spares that much, and it holds the last 16 states of some hundred source files.
 */
export const MOST_CHARS = 25_000_000;

export class FileStates {
	/** States by file, the newest last; the most recently changed file is last. */
	readonly #of = new Map<string, readonly State[]>();

	get uris(): readonly string[] {
		return [...this.#of.keys()];
	}

	/** Returns the states of a file, oldest first. */
	of(uri: string): readonly State[] {
		return this.#of.get(uri) ?? [];
	}

	find(uri: string, current: string | null): State | undefined {
		return this.of(uri).find(({ entry }) => entry.file.current === current);
	}

	/** Returns every rejection that a state of the file contained. */
	rejections(uri: string): readonly Rejection[] {
		return this.of(uri).flatMap(({ standing }) => [...standing]);
	}

	/** Adds a state, which replaces an earlier one of the file with the same text. */
	add(state: State): void {
		const { uri, current } = state.entry.file;
		const others = this.of(uri).filter(({ entry }) => entry.file.current !== current);
		this.#of.delete(uri);
		this.#of.set(uri, [...others, state].slice(-MOST_OF_FILE));
		this.#dropOldest();
	}

	/** Under its new name, too: a restore may bring back either. */
	renamed(nameOf: (uri: string) => string | null): void {
		for (const [uri, states] of [...this.#of]) {
			const name = nameOf(uri);
			if (name === null) continue;
			for (const { entry, standing } of states) {
				this.add({ entry: { ...entry, file: { ...entry.file, uri: name } }, standing });
			}
		}
	}

	/** Drops the oldest state of the file whose last change is the oldest. */
	#dropOldest(): void {
		let size = [...this.#of.values()].flat().reduce((sum, { entry }) => sum + sizeOf(entry), 0);
		for (const [uri, [...states]] of this.#of) {
			if (size <= MOST_CHARS) return;
			while (size > MOST_CHARS && states[0] !== undefined) {
				size -= sizeOf(states[0].entry);
				states.shift();
			}
			if (states.length === 0) this.#of.delete(uri);
			else this.#of.set(uri, states);
		}
	}
}

/** Returns the size of a state in characters. */
export function sizeOf({ file: { uri, baseline, current }, removed }: Entry): number {
	return uri.length + (baseline?.length ?? 0) + (current?.length ?? 0) + (removed?.bytes.length ?? 0);
}

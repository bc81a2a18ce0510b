/** The daemon's own environment: a Python with the wheel that came with the extension, made once for each wheel. */

import { createHash, randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { run } from "../programs.ts";
import { withLock } from "./lock.ts";
import {
	candidates,
	creationStep,
	installationStep,
	type Maker,
	makersOf,
	PROBE,
	type Python,
	pythonIn,
	pythonOf,
	type Step,
	stepIn,
	withoutMissing,
} from "./python.ts";
import { lacksPinned, noPython, stepFailed } from "./setup_errors.ts";

/** Is in a folder whose environment is whole; its time is when that was used last. */
const READY = "ready.json";

const LOCK = "making.lock";

/** An environment of another version is removed when no window has used it for so long. */
export const UNUSED_MS = 24 * 60 * 60 * 1000;

/** How often a window says that it uses its environment. */
const USED_MS = 60 * 60 * 1000;

/** A program that waits for input is not a Python: the Windows Store's stand-in opens a window. */
const PROBE_MS = 20_000;

const OF_INSTALLERS = {
	PIP_USER: "0", // into the environment, whatever pip's configuration says of the user's own packages
	UV_SYSTEM_CERTS: "1", // companies put theirs there
	UV_NATIVE_TLS: "1", // as it was called before
};

/** What an environment was made of. */
interface Made {
	/** Hash of the wheel and of its pins. */
	readonly wheel: string;
	/** The setting that named its Python. */
	readonly configured: string;
}

export interface EnvironmentOptions {
	/** Folder of the environments. */
	readonly storage: string;
	/** The package; beside it may lie `pins.txt`, the versions that it was tested with. */
	readonly wheel: string;
	/** The Python that the user named; empty: look for one. */
	readonly configured: string;
	readonly env: NodeJS.ProcessEnv;
	/** What a person reads meanwhile. */
	readonly say: (step: string) => void;
	readonly log: (line: string) => void;
	readonly signal: AbortSignal;
	/** Called before anything is downloaded; what it raises ends the making. */
	readonly allow: () => void;
}

/**
 * Returns the Python of the environment for this wheel, which is created if it is missing. Raises `SetupError`, the
 * reason of `signal` if it is aborted, and what `allow` raises.
 */
export async function environmentPython(options: EnvironmentOptions): Promise<string> {
	const made: Made = { wheel: await hashOf(options), configured: options.configured };
	const ready = await readyPython(options, made);
	if (ready !== null) return ready;
	options.allow();
	await mkdir(options.storage, { recursive: true });
	return await withLock(
		join(options.storage, LOCK),
		async () => {
			const meanwhile = await readyPython(options, made);
			if (meanwhile !== null) return meanwhile;
			const removed = await clear(options.storage, made);
			const python = await make(options, made);
			// An installer that outlived its killed window wrote on into its folder.
			await Promise.all(removed.map(remove));
			return python;
		},
		{ signal: options.signal, waits: () => options.say("another window is creating the environment") },
	);
}

/** Says until it is disposed of that the environment of this Python is in use. */
export function keepInUse(python: string): { readonly dispose: () => void } {
	const ready = join(python, "../..", READY);
	const touch = () => {
		const now = new Date();
		utimes(ready, now, now).catch(() => undefined); // a daemon of the user's own has none
	};
	touch();
	const timer = setInterval(touch, USED_MS).unref();
	return { dispose: () => clearInterval(timer) };
}

/** Keys are for the daemon alone; what pip and uv need to log in to an index stays. */
function withoutSecrets(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
	const isSecret = (name: string) => /KEY$|TOKEN$|SECRET/i.test(name) && !/^(?:PIP|UV)_/i.test(name);
	return Object.fromEntries(Object.entries(env).filter(([name]) => !isSecret(name)));
}

async function hashOf({ wheel }: EnvironmentOptions): Promise<string> {
	const hash = createHash("sha256").update(await readFile(wheel));
	return hash
		.update((await pinsOf(wheel)).join("\n"))
		.digest("hex")
		.slice(0, 16);
}

/** Returns the pinned versions; empty if no pins lie beside the wheel. */
async function pinsOf(wheel: string): Promise<readonly string[]> {
	const text = await readFile(join(dirname(wheel), "pins.txt"), "utf8").catch(() => "");
	return text.split(/\r?\n/).filter((line) => /^\w/.test(line));
}

/** The one that is there and runs; the Python that it was made with may be gone since. A slow machine proves nothing. */
async function readyPython({ storage, env, signal }: EnvironmentOptions, made: Made): Promise<string | null> {
	for (const folder of await foldersIn(storage)) {
		const kept = await madeIn(folder);
		if (kept?.wheel !== made.wheel || kept.configured !== made.configured) continue;
		const python = pythonIn(folder, process.platform);
		const probe = { env: withoutSecrets(env), signal, timeoutMs: PROBE_MS };
		const { code, timedOut } = await run(python, ["-I", "-c", "import pygent_ls"], probe);
		if (code === 0 || timedOut) return python;
		await rm(join(folder, READY), { force: true });
	}
	return null;
}

async function foldersIn(storage: string): Promise<readonly string[]> {
	const entries = await readdir(storage, { withFileTypes: true }).catch(() => []);
	return entries.filter((each) => each.isDirectory()).map((each) => join(storage, each.name));
}

async function madeIn(folder: string): Promise<Made | null> {
	try {
		return JSON.parse(await readFile(join(folder, READY), "utf8")) as Made;
	} catch {
		return null;
	}
}

/**
 * Removes what a window left half made, and what no window uses any more; returns these folders. Only who holds the lock
 * may.
 */
async function clear(storage: string, made: Made): Promise<readonly string[]> {
	const removed: string[] = [];
	for (const folder of await foldersIn(storage)) {
		const kept = await madeIn(folder);
		if (kept !== null && (kept.wheel === made.wheel || (await isUsed(folder)))) continue;
		await remove(folder);
		removed.push(folder);
	}
	return removed;
}

async function remove(folder: string): Promise<void> {
	await rm(folder, { recursive: true, force: true, maxRetries: 3 }).catch(() => undefined); // Windows holds it open
}

async function isUsed(folder: string): Promise<boolean> {
	const used = await stat(join(folder, READY)).catch(() => null); // another window may have removed it
	return used !== null && Date.now() - used.mtimeMs < UNUSED_MS;
}

async function make(options: EnvironmentOptions, made: Made): Promise<string> {
	options.say("looking for Python");
	return await makeWithAny(await findMakers(options), options, made);
}

/** Creates the environment with the first program that can; raises the last one's error. */
async function makeWithAny([maker, ...others]: Makers, options: EnvironmentOptions, made: Made): Promise<string> {
	try {
		return await makeWith(maker, options, made);
	} catch (error) {
		const [next, ...further] = others;
		if (next === undefined || options.signal.aborted) throw error;
		options.log(`${error} Trying another way.`);
		return await makeWithAny([next, ...further], options, made);
	}
}

type Makers = readonly [Maker, ...Maker[]];

async function makeWith(maker: Maker, options: EnvironmentOptions, made: Made): Promise<string> {
	const name = basename(options.wheel).split("-").slice(0, 2).join("-");
	const folder = join(options.storage, `${name}-${randomBytes(4).toString("hex")}`);
	const python = pythonIn(folder, process.platform);
	try {
		await doStep(options, creationStep(maker, folder));
		await install(options, maker, python, await pinsOf(options.wheel));
		await doStep(options, { say: "trying the daemon", command: python, args: ["-I", "-m", "pygent_ls", "--version"] });
		await writeFile(join(folder, "making.json"), JSON.stringify(made));
		await rename(join(folder, "making.json"), join(folder, READY));
		return python;
	} catch (error) {
		await remove(folder);
		throw error;
	}
}

/** Versions that cannot be had here are left to the installer, and those alone. */
async function install(
	options: EnvironmentOptions,
	maker: Maker,
	python: string,
	pins: readonly string[],
): Promise<void> {
	const file = join(python, "../../pins.txt");
	await writeFile(file, `${pins.join("\n")}\n`);
	const step = installationStep(maker, python, options.wheel, pins.length === 0 ? null : file);
	const { code, output } = await runStep(options, step);
	if (code === 0) return;
	if (pins.length === 0 || !lacksPinned(output)) throw stepFailed(step.say, output);
	const others = withoutMissing(pins, output);
	const left = others.length < pins.length ? others : [];
	options.log(`Tested package versions that are not available here: ${pins.length - left.length}.`);
	await install(options, maker, python, left);
}

async function doStep(options: EnvironmentOptions, step: Step): Promise<void> {
	const { code, output } = await runStep(options, step);
	if (code !== 0) throw stepFailed(step.say, output);
}

async function runStep(
	{ env, signal, say, log }: EnvironmentOptions,
	step: Step,
): Promise<{ readonly code: number | null; readonly output: string }> {
	say(step.say);
	log(`> ${[step.command, ...step.args].join(" ")}`);
	const onLine = (line: string) => {
		log(line);
		const told = stepIn(line);
		if (told !== null) say(told);
	};
	return await run(step.command, step.args, { env: { ...withoutSecrets(env), ...OF_INSTALLERS }, signal, onLine });
}

async function findMakers(options: EnvironmentOptions): Promise<Makers> {
	const found: Python[] = [];
	for (const { command, args } of candidates(process.platform, options.configured)) {
		const probe = { env: withoutSecrets(options.env), signal: options.signal, timeoutMs: PROBE_MS };
		const said = await run(command, [...args, "-I", "-c", PROBE], probe);
		const python = said.code === 0 ? pythonOf(said.stdout) : null;
		if (python === null) continue;
		options.log(`${[command, ...args].join(" ")} is Python ${python.version} (${python.executable})`);
		found.push(python);
		if (python.isNewEnough && python.makesEnvironments) break;
	}
	const [first, ...others] = makersOf(found, await hasUv(options));
	if (first === undefined) throw noPython(process.platform, options.configured, found);
	return [first, ...others];
}

/** Whether uv can be used; only if the user named no Python, because uv might take another one. */
async function hasUv({ configured, env, signal }: EnvironmentOptions): Promise<boolean> {
	if (configured !== "") return false;
	return (await run("uv", ["--version"], { env: withoutSecrets(env), signal, timeoutMs: PROBE_MS })).code === 0;
}

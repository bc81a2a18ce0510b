/** How this window's daemon is started: by the user's own program, or by the one that came with the extension. */

import { access, readdir } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import * as vscode from "vscode";
import type { Middleware } from "vscode-languageclient/node";
import { makeClient } from "./client.ts";
import type { Consent } from "./consent.ts";
import { type Started, Undecidable } from "./daemon.ts";
import { environmentPython, keepInUse } from "./environment/environment.ts";
import { sourceOf } from "./environment/python.ts";
import { SetupError } from "./environment/setup_errors.ts";
import type { KeySync } from "./key_sync.ts";
import { CAN_COME_BACK, type Launch, socketPath } from "./launch.ts";
import { runsAt, socketTransport, stdioTransport } from "./transport.ts";
import type { WindowId } from "./window_id.ts";

/** Time limit for a daemon to listen; its first start on a slow disk compiles it. */
const LISTEN_MS = 60_000;

export interface LauncherParts {
	readonly context: vscode.ExtensionContext;
	readonly log: vscode.LogOutputChannel;
	readonly middleware: Middleware;
	readonly keys: KeySync;
	readonly windowId: WindowId;
	readonly consent: Consent;
}

/** The socket of the daemon that this window started last. */
const SOCKET = "pygent.socket";

export class Launcher implements vscode.Disposable {
	readonly #parts: LauncherParts;
	#use: { readonly dispose: () => void } | null = null;

	constructor(parts: LauncherParts) {
		this.#parts = parts;
	}

	/** Starts a daemon, as described at `Start`. */
	async start(say: (step: string) => void, signal: AbortSignal): Promise<Started> {
		if (!vscode.workspace.isTrusted) throw new Undecidable({ state: "untrusted" });
		const { log, middleware, windowId, keys } = this.#parts;
		const launch = await this.#launch(say, signal);
		const write = (line: string) => log.info(line);
		log.info(`starting ${[launch.command, ...launch.args].join(" ")}`);
		const transport = CAN_COME_BACK
			? await socketTransport(await this.#socket(launch), launch, write, LISTEN_MS)
			: await stdioTransport(launch, write);
		if (transport.isOld) log.info("the daemon that was there before the window was loaded is used");
		const client = makeClient(transport, { log, middleware, windowId: windowId.value });
		return { transport, client, greet: () => keys.begin(client) };
	}

	/** Whether a daemon of this window runs still, since a turn went on while the window was loaded again. */
	async hasLeftOne(): Promise<boolean> {
		const path = this.#parts.context.workspaceState.get<string>(SOCKET);
		return path !== undefined && vscode.workspace.isTrusted && (await runsAt(path));
	}

	dispose(): void {
		this.#use?.dispose();
	}

	async #socket(launch: Launch): Promise<string> {
		const path = await socketPath(this.#parts.windowId.value, launch);
		await this.#parts.context.workspaceState.update(SOCKET, path);
		return path;
	}

	async #launch(say: (step: string) => void, signal: AbortSignal): Promise<Launch> {
		const settings = vscode.workspace.getConfiguration("pygent");
		const path = settings.get<string>("server.path", "").trim();
		const given = settings.get<Readonly<Record<string, unknown>>>("server.env", {});
		const own = Object.entries(given).flatMap(([name, value]) => (value === null ? [] : [[name, String(value)]]));
		const variables = Object.fromEntries(own) as Record<string, string>;
		const cwd = homedir(); // not the workspace: what lies there is not to be found in the place of a program
		const trace = settings.get<boolean>("trace", false) ? ["--trace", await this.#traceFile()] : [];
		if (path !== "") return { command: programAt(path), args: trace, variables, cwd };
		const python = await this.#python(variables, say, signal);
		return { command: python, args: ["-I", "-m", "pygent_ls", ...trace], variables, cwd };
	}

	async #python(
		variables: Readonly<Record<string, string>>,
		say: (step: string) => void,
		signal: AbortSignal,
	): Promise<string> {
		const { context, log, consent } = this.#parts;
		const env = { ...withProxy(process.env), ...variables };
		const python = await environmentPython({
			storage: join(context.globalStorageUri.fsPath, "environments"),
			wheel: await bundledWheel(context.extensionUri.fsPath),
			configured: withHome(vscode.workspace.getConfiguration("pygent.server").get<string>("python", "").trim()),
			env,
			say,
			log: (line) => log.info(line),
			signal,
			allow: () => {
				const { answer } = consent;
				if (answer !== true) {
					throw new Undecidable({ state: "consent", source: sourceOf(env), declined: answer === false });
				}
			},
		});
		this.#use?.dispose();
		this.#use = keepInUse(python);
		return python;
	}

	/** Returns a path that a reload keeps, because a daemon is found by its start options. */
	async #traceFile(): Promise<string> {
		const folder = vscode.Uri.joinPath(this.#parts.context.globalStorageUri, "traces");
		await vscode.workspace.fs.createDirectory(folder);
		const file = join(folder.fsPath, `${this.#parts.windowId.value}.jsonl`);
		this.#parts.log.info(`what goes over the wire is recorded in ${file}`);
		return file;
	}
}

/** Returns the wheel in the extension. Raises if the extension was packaged without it. */
async function bundledWheel(extension: string): Promise<string> {
	const folder = join(extension, "wheel");
	const names = await access(folder).then(
		() => readdir(folder),
		() => [],
	);
	const name = names.find((each) => each.endsWith(".whl"));
	if (name === undefined) {
		throw new SetupError(
			"This extension was packaged without pygent-ls. Set pygent.server.path to a pygent-ls program.",
			"path",
		);
	}
	return join(folder, name);
}

/** A name is looked for on the PATH. Raises for a relative path: relative to what? */
function programAt(path: string): string {
	const whole = withHome(path);
	if (isAbsolute(whole) || !/[/\\]/.test(whole)) return whole;
	throw new SetupError(`${path} is not an absolute path. Correct the setting pygent.server.path, or clear it.`, "path");
}

function withHome(path: string): string {
	return path.startsWith("~/") ? join(homedir(), path.slice(2)) : path;
}

/** The editor's own proxy, where the environment names none: who set that up means downloads, too. */
function withProxy(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
	const proxy = vscode.workspace.getConfiguration("http").get<string>("proxy", "");
	const isNamed = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"].some((name) => env[name] !== undefined);
	return proxy === "" || isNamed ? env : { ...env, HTTPS_PROXY: proxy };
}

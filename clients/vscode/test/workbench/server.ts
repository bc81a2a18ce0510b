/** VS Code's workbench with its extension host, served by code-server on loopback. */
import { join } from "node:path";
import { REPOSITORY, type Scratch, WORKBENCH } from "../paths.ts";
import { type RunningProgram, start } from "../processes.ts";

/** The user's settings that make tests steady; a test adds its own. */
export const STEADY_SETTINGS: Readonly<Record<string, unknown>> = {
	"workbench.reduceMotion": "on",
	"workbench.startupEditor": "none",
	"workbench.secondarySideBar.defaultVisibility": "hidden",
	"workbench.tips.enabled": false,
	"chat.disableAIFeatures": true,
	"telemetry.telemetryLevel": "off",
	"editor.minimap.enabled": false,
	"files.autoSave": "off",
	"extensions.autoCheckUpdates": false,
	"extensions.ignoreRecommendations": true,
	"git.openRepositoryInParentFolders": "never",
	"security.workspace.trust.enabled": false,
	"search.quickOpen.includeHistory": false, // files of other tests in the same window, which are gone
};

export class WorkbenchServer {
	readonly port: number;
	readonly #program: RunningProgram;

	private constructor(program: RunningProgram) {
		this.#program = program;
		this.port = Number(program.ready[1]);
	}

	/** Serves with the packaged extension installed, or without where `vsix` is null. `env` reaches the extensions. */
	static async start(
		scratch: Scratch,
		{ vsix, env }: { vsix: string | null; env: Readonly<Record<string, string>> },
	): Promise<WorkbenchServer> {
		const home = await scratch.folder("home");
		const own = {
			...env,
			PATH: `${join(REPOSITORY, ".venv/bin")}:/usr/bin:/bin`,
			HOME: home,
			LANG: "C.UTF-8",
			TMPDIR: await scratch.folder("tmp"),
			XDG_CONFIG_HOME: join(home, ".config"),
			XDG_DATA_HOME: join(home, ".local/share"),
			XDG_STATE_HOME: join(home, ".local/state"),
			XDG_CACHE_HOME: join(home, ".cache"),
			XDG_RUNTIME_DIR: await scratch.folder("run"),
			EXTENSIONS_GALLERY: "{}", // no marketplace is asked
		};
		await scratch.folder("server/User", { "settings.json": JSON.stringify(STEADY_SETTINGS) });
		const folders = [
			...["--user-data-dir", join(scratch.path, "server")],
			...["--extensions-dir", await scratch.folder("extensions")],
		];
		if (vsix !== null) {
			const installing = await start({
				command: process.execPath,
				args: [WORKBENCH, ...folders, "--install-extension", vsix],
				cwd: home,
				env: own,
				ready: /was successfully installed/,
			});
			await installing.ended();
		}
		const program = await start({
			command: process.execPath,
			args: [
				WORKBENCH,
				...folders,
				...["--bind-addr", "127.0.0.1:0", "--auth", "none", "--disable-telemetry", "--disable-update-check"],
				...["--disable-getting-started-override", "--ignore-last-opened"],
				// Tests that run in the extension host bring results out by it; no notification is shown with it.
				...(vsix === null ? ["--vscode-option", "enable-smoke-test-driver"] : []),
				...["--reconnection-grace-time", "5"], // extension hosts of windows that are gone end soon
			],
			cwd: home,
			env: own,
			ready: /HTTP server listening on http:\/\/127\.0\.0\.1:(\d+)/,
		});
		return new WorkbenchServer(program);
	}

	/** The address at which a folder is opened. */
	address(folder: string, more: Readonly<Record<string, string>> = {}): string {
		const query = new URLSearchParams({ folder, ...more });
		return `http://127.0.0.1:${this.port}/?${query}`;
	}

	get output(): string {
		return this.#program.output;
	}

	async stop(): Promise<void> {
		await this.#program.stop();
	}
}

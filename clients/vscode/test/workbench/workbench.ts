/**
 * One window of the real workbench, with the packaged extension and the real daemon, whose model is a script.
 *
 * Server, browser and model are shared by all tests of a process. A test that needs settings, a daemon or a list of
 * sessions of its own opens a new window on a new folder; the tests in `one_window/` share one:
 *
 *     await using workbench = await Workbench.open({ "cart.py": "total = 0\n" });
 *     await workbench.model.script({ text: "Hello" });
 *     await workbench.command("pygent: Open Chat");
 */
import { execFile } from "node:child_process";
import { readdir, readFile, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { after } from "node:test";
import { promisify } from "node:util";
import type { Browser, BrowserContext, FrameLocator, Locator, Page } from "playwright-core";
import { launchBrowser } from "../browser.ts";
import { ModelServer } from "../model_server.ts";
import { CLIENT, DAEMON, REPOSITORY, Scratch } from "../paths.ts";
import { STEADY_SETTINGS, WorkbenchServer } from "./server.ts";

/** Time limit of each wait, for a loaded machine. */
export const WAIT_MS = Number(process.env["WAIT_MS"] ?? 60_000);

/** Wide enough for the explorer, two texts side by side in a diff, and the chat. */
export const SIZE = { width: 1600, height: 800 } as const;

/** Screenshots that the README and the documentation show. */
export const IMAGES = join(REPOSITORY, "docs/images");

const execute = promisify(execFile);

interface Shared {
	readonly scratch: Scratch;
	readonly model: ModelServer;
	readonly server: WorkbenchServer;
	readonly browser: Browser;
}

let shared: Promise<Shared> | undefined;
/** The window that tests share. */
let common: Workbench | undefined;
const started = new AsyncDisposableStack();
after(async () => {
	await Workbench.closeCommon();
	await started.disposeAsync();
});

async function startShared(): Promise<Shared> {
	const scratch = started.use(await Scratch.create());
	const model = started.adopt(await ModelServer.start(), (each) => each.stop());
	started.defer(() => endLingering(scratch));
	const env = { ...model.env, PYGENT_MODEL: "openai/mock", PYGENT_LOG: "info" };
	const server = started.adopt(await WorkbenchServer.start(scratch, { vsix: await pack(scratch), env }), (each) =>
		each.stop(),
	);
	const browser = started.adopt(await launchBrowser(), (each) => each.close());
	return { scratch, model, server, browser };
}

/** A daemon outlives its window for a while, in case that the window comes back. */
async function endLingering(scratch: Scratch): Promise<void> {
	for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
		const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => ""); // it may have ended by now
		if (command.includes(scratch.path)) process.kill(Number(pid), "SIGKILL");
	}
}

/** Packages the extension from the sources as they are. */
async function pack(scratch: Scratch): Promise<string> {
	const vsix = join(scratch.path, "pygent.vsix");
	await execute(process.execPath, [join(CLIENT, "scripts/package.ts"), "--out", vsix]);
	return vsix;
}

export class Workbench implements AsyncDisposable {
	readonly page: Page;
	/** Folder of this window, with the test's files. */
	readonly folder: string;
	readonly model: ModelServer;
	/** What the window's pages complained of, the workbench's own included. */
	readonly errors: string[] = [];
	readonly #shared: Shared;
	readonly #context: BrowserContext;
	readonly #address: string;

	private constructor(shared: Shared, context: BrowserContext, page: Page, folder: string, address: string) {
		this.#shared = shared;
		this.#address = address;
		this.#context = context;
		this.page = page;
		this.folder = folder;
		this.model = shared.model;
		page.on("pageerror", (error) => this.errors.push(error.stack ?? error.message));
		page.on("console", (message) => {
			if (message.type() === "error") this.errors.push(message.text());
		});
	}

	/** A window on a new folder with these files, or on the workspace that one of them describes. `settings` are the user's. */
	static async open(
		files: Readonly<Record<string, string>> = {},
		settings: Readonly<Record<string, unknown>> = {},
	): Promise<Workbench> {
		await Workbench.closeCommon(); // settings are those of all windows
		shared ??= startShared();
		const all = await shared;
		const name = `workspace-${crypto.randomUUID()}`;
		const folder = await all.scratch.folder(name, files);
		const context = await all.browser.newContext({
			viewport: SIZE,
			permissions: ["clipboard-read", "clipboard-write"],
		});
		const workspace = Object.keys(files).find((path) => path.endsWith(".code-workspace"));
		const opened = workspace === undefined ? {} : { workspace: join(folder, workspace) };
		const workbench = new Workbench(all, context, await context.newPage(), folder, all.server.address(folder, opened));
		await workbench.set(settings);
		workbench.page.setDefaultTimeout(WAIT_MS);
		await workbench.load();
		if (workspace !== undefined) await workbench.#hasFolders();
		return workbench;
	}

	/** The window that tests share, without what the test before has left: with these files and a new session. */
	static async share(files: Readonly<Record<string, string>> = {}): Promise<Workbench> {
		if (common === undefined) {
			common = await Workbench.open(files);
		} else {
			await common.#begin(files);
		}
		return common;
	}

	/** Closes the window that tests share. */
	static async closeCommon(): Promise<void> {
		const closed = common;
		common = undefined;
		await closed?.[Symbol.asyncDispose]();
	}

	async #begin(files: Readonly<Record<string, string>>): Promise<void> {
		this.errors.length = 0;
		await this.page.keyboard.press("Escape");
		if ((await this.notification("").count()) > 0) await this.command("Notifications: Clear All Notifications");
		if ((await this.tab("").count()) > 0) {
			await this.command("File: Save All"); // else each changed file is asked about
			await this.page.locator(".tab.dirty").first().waitFor({ state: "detached" });
			await this.command("View: Close All Editors");
			await this.tab("").first().waitFor({ state: "detached" });
		}
		const panel = this.page.locator(".part.panel");
		if (await panel.isVisible()) {
			const hasTerminals = await panel.locator(".xterm").first().isVisible();
			await this.command(hasTerminals ? "Terminal: Kill All Terminals" : "View: Hide Panel"); // the last takes it along
			await panel.waitFor({ state: "hidden" });
		}
		if (await this.chat.locator("body").isVisible()) {
			await this.chat.getByTitle("New session", { exact: true }).click();
			await this.chat.getByRole("heading", { name: "What shall we do?" }).waitFor();
		}
		for (const each of await readdir(this.folder)) await rm(join(this.folder, each), { recursive: true });
		await this.#shared.scratch.folder(basename(this.folder), files);
	}

	/** The workbench now and then opens a workspace before it can read its file, and then has no folder: it is loaded again. */
	async #hasFolders(): Promise<void> {
		const folder = this.page.locator(".explorer-folders-view .monaco-list-row").first();
		for (let left = 3; left > 0; left--) {
			const isShown = await folder.waitFor({ timeout: WAIT_MS / 4 }).then(
				() => true,
				() => false,
			);
			if (isShown) return;
			await this.load();
		}
		throw new Error("the window shows no folder of its workspace");
	}

	/** Replaces the user's settings, also those that a machine has of its own: which the server is, for this browser. */
	async set(settings: Readonly<Record<string, unknown>>): Promise<void> {
		const text = JSON.stringify({ ...STEADY_SETTINGS, "pygent.server.path": DAEMON, ...settings });
		for (const whose of ["User", "Machine"])
			await this.#shared.scratch.folder(`server/${whose}`, { "settings.json": text });
	}

	/** Opens the window's address anew in this window, as after its page was closed. */
	async load(): Promise<void> {
		await this.page.goto(this.#address);
		await this.#isThere();
	}

	/** Loads the window again, as its user does. */
	async reload(): Promise<void> {
		const loaded = this.page.waitForEvent("load", { timeout: WAIT_MS });
		await this.command("Developer: Reload Window");
		await loaded;
		await this.#isThere();
	}

	/** Runs a command by its title in the palette. */
	async command(title: string): Promise<void> {
		await this.#pick("F1", `>${title}`, title);
	}

	/**
	 * Opens a file of the folder in an editor, which shows what is on the disk. The list may offer a file of the same name
	 * that an earlier test had in this window, and an editor may keep its text: it is closed, and the file opened again.
	 */
	async openFile(name: string): Promise<void> {
		const word = await this.#longestWord(name);
		const deadline = performance.now() + WAIT_MS;
		for (;;) {
			await this.#pick("Control+P", name, name);
			await this.tab(name).waitFor();
			const line = this.lines.filter({ hasText: word }).first();
			const isShown = await line.waitFor({ timeout: WAIT_MS / 6 }).then(
				() => true,
				() => false,
			);
			if (isShown) return;
			if (performance.now() > deadline) throw new Error(`the editor does not show ${word} of ${name}`);
			await this.command("View: Close Editor");
		}
	}

	/** A word of the first line of a file of the folder; of a file elsewhere, an empty text, which each line has. */
	async #longestWord(name: string): Promise<string> {
		const found = (await readdir(this.folder, { recursive: true })).find((path) => basename(path) === name);
		if (found === undefined) return "";
		const [first = ""] = (await readFile(join(this.folder, found), "utf8")).split("\n");
		return (first.match(/\w+/g) ?? [""]).reduce((one, other) => (other.length > one.length ? other : one));
	}

	/**
	 * A list that a window has just opened may lack files, and commands of extensions, for good, and it closes at any
	 * moment when the window brings its views back: it is opened again.
	 */
	async #pick(key: string, typed: string, entry: string): Promise<void> {
		const input = this.page.locator(".quick-input-widget input.input");
		const row = this.page.locator(".quick-input-list .monaco-list-row").filter({ hasText: entry }).first();
		const deadline = performance.now() + WAIT_MS;
		for (let timeout = 1_000; ; timeout *= 2) {
			await this.page.keyboard.press(key);
			const isDone = await input
				.waitFor({ timeout })
				.then(() => input.fill(typed, { timeout }))
				.then(() => row.waitFor({ timeout }))
				.then(() => row.click({ timeout: WAIT_MS / 6 }))
				.then(
					() => true,
					() => false,
				);
			if (isDone) return;
			if (performance.now() > deadline) throw new Error(`${entry} is not found`);
			await this.page.keyboard.press("Escape");
			await input.waitFor({ state: "hidden" }); // else the next key goes on in the list that closes
		}
	}

	/** Chooses a code action at the cursor. The menu lists what the extensions answered when it was opened. */
	async codeAction(title: string): Promise<void> {
		const row = this.page.locator(".action-widget .monaco-list-row").filter({ hasText: title });
		const deadline = performance.now() + WAIT_MS;
		for (let timeout = 2_000; ; timeout *= 2) {
			await this.page.keyboard.press("Control+.");
			const isDone = await row.click({ timeout }).then(
				() => true,
				() => false,
			);
			if (isDone) return;
			if (performance.now() > deadline) throw new Error(`no code action “${title}” was offered`);
			await this.page.keyboard.press("Escape");
		}
	}

	/** Opens the chat in the side bar; the daemon is ready when this resolves. */
	async openChat(): Promise<void> {
		await this.command("pygent: Open Chat");
		await this.chat.getByRole("button", { name: /mock/ }).waitFor();
	}

	/** The session makes its edits without a question, as its user wants by a key. */
	async acceptEdits(): Promise<void> {
		await this.chat.getByRole("textbox", { name: "Prompt" }).press("Shift+Tab");
		await this.chat.getByRole("button", { name: "Mode: Accept edits" }).waitFor();
	}

	/** Says it to the agent, as a user does. */
	async prompt(text: string): Promise<void> {
		const field = this.chat.getByRole("textbox", { name: "Prompt" });
		await field.fill(text);
		await field.press("Enter");
	}

	/** Waits for the end of the turn: the agent of one that runs goes on once it hears of a decision. */
	async turnEnds(): Promise<void> {
		await this.chat.getByRole("button", { name: /^Stop/ }).waitFor({ state: "detached" });
	}

	/** The web view of the chat: the only one of the window that is shown. */
	get chat(): FrameLocator {
		return this.page.frameLocator("iframe.webview.ready").frameLocator("#active-frame");
	}

	/** What was said and done in the session that the chat shows. */
	get conversation(): Locator {
		return this.chat.getByRole("feed", { name: "Conversation" });
	}

	tab(name: string): Locator {
		return this.page.locator(".tab").filter({ hasText: name });
	}

	/** The lines that the active editor shows. */
	get lines(): Locator {
		return this.page.locator(".editor-instance .monaco-editor .view-line");
	}

	/** A notification that is shown; its buttons are found by role. */
	notification(text: string): Locator {
		return this.page.locator(".notification-toast").filter({ hasText: text });
	}

	statusItem(text: string): Locator {
		return this.page.locator(".statusbar-item").filter({ hasText: text });
	}

	async #isThere(): Promise<void> {
		await this.page.locator(".monaco-workbench .statusbar").waitFor();
	}

	/** Closes the window, unless it is shared. */
	async [Symbol.asyncDispose](): Promise<void> {
		const screenshots = process.env["SCREENSHOTS"]; // a folder, for who looks into what fails
		if (screenshots !== undefined) {
			await this.page.screenshot({ path: join(screenshots, `${Date.now()}.png`) });
			console.error(this.errors.join("\n"));
		}
		if (this === common) return;
		await this.page.goto("about:blank"); // the window closes as a user's does, and its extension host ends
		await this.#context.close();
	}
}

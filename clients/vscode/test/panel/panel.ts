/**
 * The panel's page alone, as the bundle has it: in Chromium, under its own policy and in the colours of a theme. The
 * test is the extension host: it answers calls and sends notes (`src/bridge/messages.ts`).
 *
 *     await using panel = await Panel.open({ theme: "dark" });
 *     await panel.send({ type: "conversation", conversation });
 *     await panel.page.getByRole("button", { name: "Stop" }).click();
 *     await panel.called("stop");
 */
import { EventEmitter, once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after } from "node:test";
import { build } from "esbuild";
import type { Browser, BrowserContext, Page, Route } from "playwright-core";
import { bundles } from "../../scripts/bundles.ts";
import type { Call, Calls, Method, Note, PanelState } from "../../src/bridge/messages.ts";
import { type Conversation, EMPTY } from "../../src/conversation/state.ts";
import { pageText } from "../../src/panel/page.ts";
import { launchBrowser } from "../browser.ts";
import { CLIENT } from "../paths.ts";

/** What a web view of the real workbench is given in a theme; `capture_themes.ts` writes it. */
export interface Theme {
	readonly body: { readonly classes: readonly string[]; readonly dataset: Readonly<Record<string, string>> };
	readonly variables: Readonly<Record<string, string>>;
}

export type ThemeName = "light" | "dark" | "high-contrast" | "high-contrast-light";

/** As wide as a side bar that was not made wider. */
const SIDE_BAR = { width: 400, height: 700 } as const;

const ORIGIN = "https://panel.test";

const WAIT_MS = 20_000;

/** A panel before the first prompt, with a daemon that is ready. */
export const READY: PanelState = {
	daemon: { state: "ready", version: "1.0.0" },
	session: null,
	notices: [],
	model: "openai/mock",
	agent: "default",
	mode: "default",
	models: [{ name: "openai/mock", available: true }],
	agents: [],
	modes: ["default", "accept_edits", "plan", "trust"],
	hasFolder: true,
	needsModel: false,
	selection: null,
	review: { hunks: 0, files: [], rejected: [] },
};

/**
 * How the extension host answers; a call that is not here is answered with null. A thrown error refuses. A call whose
 * answer is a promise was made (`called`) before it is answered.
 */
export type Answers = {
	readonly [M in Method]?: (params: Calls[M]["params"]) => Calls[M]["result"] | Promise<Calls[M]["result"]>;
};

export interface Opening {
	readonly theme?: ThemeName;
	readonly size?: { readonly width: number; readonly height: number };
	readonly panel?: Partial<PanelState>;
	readonly conversation?: Conversation;
	readonly answers?: Answers;
	/** What the view kept before a reload of the window. */
	readonly kept?: unknown;
}

interface Shared {
	readonly browser: Browser;
	/** The bundle's files by name. */
	readonly files: ReadonlyMap<string, Buffer>;
}

let shared: Promise<Shared> | undefined;
const started = new AsyncDisposableStack();
after(() => started.disposeAsync());

async function startShared(): Promise<Shared> {
	// As it is shipped, which also takes a third less time; the other one tells more to who looks into a failure.
	const production = process.env["NODE_ENV"] !== "development";
	const { page } = bundles({ production, outdir: join(CLIENT, "dist") });
	const [browser, result] = await Promise.all([
		launchBrowser(),
		build({ ...page, write: false, logLevel: "error", sourcemap: production ? false : "inline" }),
	]);
	started.adopt(browser, (each) => each.close());
	const files = result.outputFiles.map(({ path, contents }) => [path.split("/").at(-1) ?? "", Buffer.from(contents)]);
	return { browser, files: new Map(files as [string, Buffer][]) };
}

export class Panel implements AsyncDisposable {
	readonly page: Page;
	/** All calls of the view so far. */
	readonly calls: Call[] = [];
	/** What broke the page's policy or was not caught in it; a test that expects none asserts that it is empty. */
	readonly faults: string[] = [];
	readonly #context: BrowserContext;
	readonly #opening: Opening;
	readonly #heard = new EventEmitter();

	private constructor(context: BrowserContext, page: Page, opening: Opening) {
		this.#context = context;
		this.page = page;
		this.#opening = opening;
	}

	static async open(opening: Opening = {}): Promise<Panel> {
		shared ??= startShared();
		const { browser, files } = await shared;
		const context = await browser.newContext({
			viewport: opening.size ?? SIDE_BAR,
			reducedMotion: "reduce",
			permissions: ["clipboard-read", "clipboard-write"],
		});
		const page = await context.newPage();
		page.setDefaultTimeout(WAIT_MS);
		const panel = new Panel(context, page, opening);
		page.on("pageerror", (error) => panel.faults.push(error.message));
		page.on("console", (message) => {
			if (message.type() === "error") panel.faults.push(message.text());
		});
		await context.route("**", (route) => serve(route, files));
		await page.exposeFunction("hearCall", (call: Call) => panel.#hear(call));
		const theme: Theme = JSON.parse(
			readFileSync(join(import.meta.dirname, `themes/${opening.theme ?? "dark"}.json`), "utf8"),
		);
		await page.addInitScript(standIn, { theme, kept: opening.kept });
		await page.goto(`${ORIGIN}/`);
		await panel.called("ready");
		await page.evaluate(() => new Promise((shown) => requestAnimationFrame(() => setTimeout(shown))));
		return panel;
	}

	/** Sends a note, as the extension host does. */
	async send(...notes: readonly Note[]): Promise<void> {
		await this.page.evaluate((all) => {
			for (const note of all) window.postMessage(note, "*");
		}, notes);
	}

	/** Resolves with the view's call of this method, or with the one after the first `nth` of them. */
	async called<M extends Method>(method: M, nth = 0): Promise<Call<M>> {
		const find = () => this.calls.filter((call): call is Call<M> => call.method === method)[nth];
		const signal = AbortSignal.timeout(WAIT_MS);
		for (let found = find(); ; found = find()) {
			if (found !== undefined) return found;
			await once(this.#heard, "call", { signal }).catch(() => {
				throw new Error(`the view did not call ${method}, but ${this.calls.map((call) => call.method).join(", ")}`);
			});
		}
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.#context.close();
	}

	async #hear(call: Call): Promise<void> {
		let note: Note;
		try {
			note = { type: "reply", id: call.id, result: (await this.#answer(call)) ?? null };
		} catch (error) {
			note = { type: "refusal", id: call.id, message: String(error instanceof Error ? error.message : error) };
		}
		const first: Note[] = [
			{ type: "panel", panel: { ...READY, ...this.#opening.panel } },
			{ type: "conversation", conversation: this.#opening.conversation ?? EMPTY },
		];
		await this.send(...(call.method === "ready" ? first : []), note);
		this.#record(call);
	}

	#answer(call: Call): unknown {
		const answer = this.#opening.answers?.[call.method] as ((params: unknown) => unknown) | undefined;
		const answered = answer?.(call.params);
		if (answered instanceof Promise) this.#record(call);
		return answered;
	}

	#record(call: Call): void {
		if (this.calls.includes(call)) return;
		this.calls.push(call);
		this.#heard.emit("call");
	}
}

async function serve(route: Route, files: ReadonlyMap<string, Buffer>): Promise<void> {
	const { origin, pathname } = new URL(route.request().url());
	const file = files.get(pathname.slice(1));
	if (origin !== ORIGIN) {
		await route.abort();
	} else if (pathname === "/") {
		const preset = `<link rel="stylesheet" href="${ORIGIN}/preset.css">`;
		const text = pageText(ORIGIN, (name) => `${ORIGIN}/${name}`).replace("<link", `${preset}<link`);
		await route.fulfill({ contentType: "text/html", body: text });
	} else if (pathname === "/preset.css") {
		await route.fulfill({ contentType: "text/css", path: join(import.meta.dirname, "themes/preset.css") });
	} else if (file !== undefined) {
		const kinds = { js: "text/javascript", css: "text/css", ttf: "font/ttf" } as const;
		const kind = Object.entries(kinds).find(([end]) => pathname.endsWith(`.${end}`));
		await route.fulfill({ contentType: kind?.[1] ?? "application/octet-stream", body: file });
	} else {
		await route.fulfill({ status: 404 });
	}
}

/** Runs in the page before its script: what the editor does to a web view. */
function standIn({ theme, kept }: { theme: Theme; kept: unknown }): void {
	const { hearCall } = window as unknown as { hearCall: (call: Call) => Promise<void> };
	let state = kept;
	Object.assign(window, {
		acquireVsCodeApi: () => ({
			postMessage: (call: Call) => void hearCall(call),
			getState: () => state,
			setState: (value: unknown) => {
				state = value;
				Object.assign(window, { keptState: value });
			},
		}),
	});
	document.addEventListener("DOMContentLoaded", () => {
		for (const [name, value] of Object.entries(theme.variables))
			document.documentElement.style.setProperty(name, value);
		document.documentElement.style.background = "var(--vscode-sideBar-background)"; // of what is behind the view
		document.body.classList.add("vscode-body", ...theme.body.classes);
		Object.assign(document.body.dataset, theme.body.dataset);
	});
}

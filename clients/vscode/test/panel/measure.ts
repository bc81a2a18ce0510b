/**
 * Measures the panel's page in Chromium, bundled as it is shipped: `node test/panel/measure.ts FILE` writes the figures.
 * `benchmarks/panel.py` runs it.
 *
 * What is compared is measured in turn, A B A B …, so that a machine that grows slower does so for both.
 */
import { writeFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { bundles } from "../../scripts/bundles.ts";
import type { Item } from "../../src/conversation/state.ts";
import { conversation, end, outcome, prompt, SESSION, text, tool } from "./conversation_items.ts";
import { Panel } from "./panel.ts";

const SHORT = 10;
const LONG = 2000;
const STARTS = 5;
const DELTAS = 60;

/** So often `WORDS` in each answer make a conversation of 3 MB. */
const PARAGRAPHS = 80;
const SEARCHES = ["e", "rounded", "missing"];

/** What takes longer is broken. */
const LIMIT_MS = 20_000;

const WORDS = "The total is **rounded** once, in `with_tax`, and *nowhere* else.\n\n- one\n- two\n\n";

/** Turns of a prompt, an answer, a call and an end, and at last an answer that has just begun. */
function items(count: number, words = WORDS): readonly Item[] {
	const all = Array.from({ length: Math.ceil(count / 4) }, (_, turn) => [
		prompt({ key: `p${turn}`, turnId: `turn ${turn}` }),
		text({ key: `a${turn}`, turnId: `turn ${turn}`, text: words }),
		tool({ key: `c${turn}`, turnId: `turn ${turn}`, kind: "execute", result: outcome("3 passed\n") }),
		end({ key: `e${turn}`, turnId: `turn ${turn}` }),
	]);
	return [...all.flat().slice(0, count - 1), text({ key: "last", itemId: "last", streaming: true, text: "So " })];
}

function opened(count: number, words = WORDS) {
	return conversation(items(count, words), { runningTurnId: "t1" });
}

interface Start {
	/** Milliseconds from the request for the page to its first words. */
	readonly page: number;
	/** Milliseconds from the message with a conversation to the end of the frame that paints its end. */
	readonly session: number;
}

async function start(count: number): Promise<Start> {
	await using panel = await Panel.open();
	await panel.page.getByText("What shall we do?").waitFor();
	return await panel.page.evaluate(
		async ({ opened, limitMs }) => {
			const [first] = performance.getEntriesByName("first-contentful-paint");
			const begin = performance.now();
			window.postMessage({ type: "conversation", conversation: opened }, "*");
			const isShown = () => [...document.querySelectorAll(".answer")].at(-1)?.textContent?.trim() === "So";
			while (!isShown()) {
				if (performance.now() - begin > limitMs) throw new Error("the session is not shown");
				await new Promise((resolve) => requestAnimationFrame(resolve));
			}
			const { port1, port2 } = new MessageChannel();
			const painted = new Promise((resolve) => {
				port1.onmessage = resolve;
			});
			port2.postMessage(null);
			await painted;
			return { page: first?.startTime ?? Number.NaN, session: performance.now() - begin };
		},
		{ opened: opened(count), limitMs: LIMIT_MS },
	);
}

/** Milliseconds from the message with a delta to the end of the frame that paints it. */
async function deltas(panel: Panel, from: number): Promise<readonly number[]> {
	return await panel.page.evaluate(
		async ({ sessionId, from, count, limitMs }) => {
			const found: number[] = [];
			const frameIsOver = () =>
				new Promise<void>((resolve) => {
					requestAnimationFrame(() => {
						const { port1, port2 } = new MessageChannel();
						port1.onmessage = () => resolve();
						port2.postMessage(null);
					});
				});
			for (let index = from; index < from + count; index++) {
				const items = [{ op: "append", key: "last", field: "text", text: `word${index} ` }];
				const at = new Date().toISOString();
				const change = { type: "items", items: { seq: 1001 + index, at, items, runningTurnId: "t1" } };
				await frameIsOver();
				const begin = performance.now();
				window.postMessage({ type: "change", sessionId, change }, "*");
				while (![...document.querySelectorAll(".answer")].at(-1)?.textContent?.includes(`word${index} `)) {
					if (performance.now() - begin > limitMs) throw new Error("the delta is not painted");
					await frameIsOver();
				}
				found.push(performance.now() - begin);
			}
			return found;
		},
		{ sessionId: SESSION, from, count: DELTAS / 3, limitMs: LIMIT_MS },
	);
}

/** Milliseconds from the typed words to the number of their matches. */
async function search(panel: Panel, words: string): Promise<number> {
	const field = panel.page.getByRole("textbox", { name: "Find in the conversation" });
	const count = panel.page.locator(".find-count:not(:empty)");
	const begin = performance.now();
	await field.fill(words);
	await count.waitFor();
	const took = performance.now() - begin;
	await field.fill("");
	await count.waitFor({ state: "detached" });
	return took;
}

/** In a conversation of 3 MB: how soon matches are counted, and deltas while a letter is looked for. */
async function finding() {
	const long = opened(LONG, WORDS.repeat(PARAGRAPHS));
	await using closed = await Panel.open({ conversation: long });
	await using open = await Panel.open({ conversation: long });
	await open.page.getByRole("textbox", { name: "Prompt" }).press("Control+f");
	const first = await search(open, "missing");
	const counted: number[] = [];
	for (let round = 0; round < STARTS; round++) {
		for (const words of SEARCHES) counted.push(await search(open, words));
	}
	await open.page.getByRole("textbox", { name: "Find in the conversation" }).fill("e");
	await open.page.getByRole("button", { name: "Newest" }).click();
	const painted: { readonly closed: number[]; readonly open: number[] } = { closed: [], open: [] };
	for (let from = 0; from < DELTAS; from += DELTAS / 3) {
		await closed.page.bringToFront();
		painted.closed.push(...(await deltas(closed, from)));
		await open.page.bringToFront();
		painted.open.push(...(await deltas(open, from)));
	}
	return {
		first_search_ms: Math.round(first),
		search_ms: summary(counted),
		delta_to_paint_ms: { closed: summary(painted.closed), open: summary(painted.open) },
	};
}

function summary(values: readonly number[]) {
	const sorted = [...values].sort((a, b) => a - b);
	const at = (share: number) => Math.round((sorted[Math.floor(share * (sorted.length - 1))] ?? 0) * 10) / 10;
	return { median: at(0.5), p95: at(0.95), max: at(1) };
}

async function sizes(): Promise<Readonly<Record<string, { readonly kB: number; readonly gzip_kB: number }>>> {
	const both = Object.values(bundles({ production: true, outdir: "dist" }));
	const built = await Promise.all(both.map((options) => build({ ...options, write: false, logLevel: "error" })));
	const files = built.flatMap(({ outputFiles }) => outputFiles);
	const kB = (bytes: number) => Math.round(bytes / 100) / 10;
	return Object.fromEntries(
		files.map(({ path, contents }) => [
			path.slice(path.lastIndexOf("/") + 1),
			{ kB: kB(contents.length), gzip_kB: kB(gzipSync(contents).length) },
		]),
	);
}

async function main(file: string): Promise<void> {
	const starts: { readonly short: Start[]; readonly long: Start[] } = { short: [], long: [] };
	await start(SHORT); // the browser's own
	for (let round = 0; round < STARTS; round++) {
		starts.short.push(await start(SHORT));
		starts.long.push(await start(LONG));
	}
	await using short = await Panel.open({ conversation: opened(SHORT) });
	await using long = await Panel.open({ conversation: opened(LONG) });
	const painted: { readonly short: number[]; readonly long: number[] } = { short: [], long: [] };
	for (let from = 0; from < DELTAS; from += DELTAS / 3) {
		await short.page.bringToFront();
		painted.short.push(...(await deltas(short, from)));
		await long.page.bringToFront();
		painted.long.push(...(await deltas(long, from)));
	}
	const of = (first: readonly number[], second: readonly number[]) => ({
		[`${SHORT}_items`]: summary(first),
		[`${LONG}_items`]: summary(second),
	});
	const figures = {
		first_words_ms: summary([...starts.short, ...starts.long].map(({ page }) => page)),
		session_shown_ms: of(
			starts.short.map(({ session }) => session),
			starts.long.map(({ session }) => session),
		),
		delta_to_paint_ms: of(painted.short, painted.long),
		find_in_3_MB: await finding(),
		bundles: await sizes(),
	};
	await writeFile(file, JSON.stringify(figures));
}

const [file] = process.argv.slice(2);
if (file === undefined) throw new Error("usage: node test/panel/measure.ts FILE");
await main(file);
process.exit(); // resources that tests share, such as the browser, are closed after the last test, which does not exist here

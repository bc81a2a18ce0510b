/** How long the words of a model take from the daemon to the eye. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { cpus, loadavg, platform, release } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Note } from "../../../../src/bridge/messages.ts";
import type { Items } from "../../../../src/protocol/protocol.ts";
import { REPOSITORY } from "../../../paths.ts";
import { Workbench } from "../../workbench.ts";

const WORDS = 100;

/** Delay of a word in milliseconds since its event in the daemon. */
interface Delay {
	/** To the message in the panel's page. */
	readonly arrived: number;
	/** To the end of the frame that it is painted in. */
	readonly painted: number;
}

test("the words of an answer are painted as they come, and the run says how soon", async () => {
	await using workbench = await Workbench.share();
	const { chat, conversation, model } = workbench;
	const words = Array.from({ length: WORDS }, (_, index) => `word${index}`).join(" ");
	await model.script({ text: "Ready." }, { text: `${words} end`, chunk: 9, chunk_delay_s: 0.03 });
	await workbench.openChat();
	await workbench.prompt("Are you ready?");
	await conversation.getByText("Ready.").waitFor();
	await chat.locator("body").evaluate(watch);

	await workbench.prompt("Count");
	await conversation.getByText(`word${WORDS - 1} end`).waitFor();

	const delays = await chat.locator("body").evaluate(() => (window as unknown as { delays: Delay[] }).delays);
	assert.ok(delays.length > WORDS / 10, `${delays.length} deltas`); // neighbours may come together
	const figures = {
		deltas: delays.length,
		painted_ms: summary(delays.map(({ painted }) => painted)),
		of_that_to_the_page_ms: summary(delays.map(({ arrived }) => arrived)),
	};
	console.log(
		`A delta is painted ${figures.painted_ms.median} ms after the daemon has it (median of ${delays.length}).`,
	);
	if (process.env["PYGENT_RESULTS"] !== undefined) await write(figures);
});

/** Runs in the page: for each delta, when it is there and when the frame that shows it is over. */
function watch(): void {
	const waiting: { readonly word: string; readonly made: number; readonly arrived: number }[] = [];
	const delays: Delay[] = [];
	const now = () => performance.timeOrigin + performance.now();
	Object.assign(window, { delays });
	let said = "";
	const deltasOf = ({ at, items }: Items) =>
		items.flatMap((each) => (each.op === "append" ? [{ text: each.text, made: Date.parse(at ?? "") }] : []));
	window.addEventListener("message", ({ data: note }: MessageEvent<Note>) => {
		if (note.type !== "change" || note.change.type !== "items") return;
		for (const { text, made } of deltasOf(note.change.items)) {
			said += text;
			const word = /(word\d+) \S*$/.exec(said)?.[1]; // the last that is whole
			if (word !== undefined) waiting.push({ word, made, arrived: now() });
		}
	});
	const look = (): void => {
		const shown = [...document.querySelectorAll(".answer")].at(-1)?.textContent ?? "";
		while (waiting[0] !== undefined && shown.includes(`${waiting[0].word} `)) {
			const { made, arrived } = waiting.shift() as (typeof waiting)[0];
			const { port1, port2 } = new MessageChannel();
			port1.onmessage = () => delays.push({ arrived: arrived - made, painted: now() - made }); // after this frame
			port2.postMessage(null);
		}
		requestAnimationFrame(look);
	};
	requestAnimationFrame(look);
}

function summary(values: readonly number[]): { readonly median: number; readonly p95: number; readonly max: number } {
	const sorted = [...values].sort((a, b) => a - b);
	const at = (share: number) => Math.round((sorted[Math.floor(share * (sorted.length - 1))] ?? 0) * 10) / 10;
	return { median: at(0.5), p95: at(0.95), max: at(1) };
}

async function write(figures: object): Promise<void> {
	const machine = {
		date: new Date().toISOString().slice(0, 10),
		platform: `${platform()}-${release()}`,
		cpus: cpus().length,
		load_1m: Math.round((loadavg()[0] ?? 0) * 100) / 100,
		node: process.versions.node,
	};
	const what = "from the time of a delta in the daemon to the end of the frame that paints it, in the workbench, in ms";
	const text = JSON.stringify({ machine, what, ...figures }, null, 2);
	await writeFile(join(REPOSITORY, "benchmarks/results/painting.json"), `${text}\n`);
}

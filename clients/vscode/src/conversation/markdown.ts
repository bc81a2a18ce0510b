/** A conversation as markdown, to be copied: what was said in full, what was done in a line. */

import { rejectionsOf } from "./amounts.ts";
import type { Item, ToolItem } from "./state.ts";

/** All of it, or some of its items. What was withdrawn and what was only thought is left out. */
export function markdownOf(items: readonly Item[]): string {
	let speaker = "";
	const paragraphs: string[] = [];
	for (const item of items) {
		const words = wordsOf(item);
		if (words === null) continue;
		const heading = item.type === "prompt" || item.type === "review" ? "## You" : "## pygent";
		if (heading !== speaker || item.type === "prompt") paragraphs.push(heading);
		speaker = heading;
		paragraphs.push(words);
	}
	return paragraphs.length === 0 ? "" : `${paragraphs.join("\n\n")}\n`;
}

function wordsOf(item: Item): string | null {
	switch (item.type) {
		case "prompt":
			return closed(item.text);
		case "review":
			return quoted(oneLine(rejectionsOf(item.files)));
		case "text":
			return item.withdrawn || item.text.trim() === "" ? null : closed(item.text);
		case "tool":
			return quoted(`tool: ${oneLine(item.title)}${OUTCOMES[item.status]}`);
		case "failure":
			return item.state === "final" ? quoted(`failed: ${oneLine(item.message)}`) : null;
		case "notice":
			return item.level === "info" ? null : quoted(`${item.level}: ${oneLine(item.text)}`);
		case "end":
			return item.stopReason === "end_turn" ? null : quoted(`stopped: ${item.stopReason.replaceAll("_", " ")}`);
		case "thinking":
		case "limit":
		case "compacted":
		case "hook":
			return null;
	}
}

const OUTCOMES: Readonly<Record<ToolItem["status"], string>> = {
	writing: "being written",
	asked: "",
	running: "",
	done: "",
	failed: " (failed)",
	denied: " (denied)",
	cancelled: " (cancelled)",
};

/** What a title says may come from a file, or from the model. */
function oneLine(text: string): string {
	return text.replaceAll(/\s+/g, " ").trim();
}

function quoted(line: string): string {
	return `> ${line}`;
}

/** The text with a code block closed that it leaves open, as one that was cut off does: it would swallow the rest. */
function closed(text: string): string {
	let fence = "";
	for (const line of text.split("\n")) {
		const [, mark = "", rest = ""] = FENCE.exec(line) ?? [];
		if (fence === "" && !(mark.startsWith("`") && rest.includes("`"))) fence = mark;
		else if (mark.startsWith(fence) && rest.trim() === "") fence = "";
	}
	return fence === "" ? text.trimEnd() : `${text.trimEnd()}\n${fence}`;
}

const FENCE = /^ {0,3}(`{3,}|~{3,})(.*)$/;

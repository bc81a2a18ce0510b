/** What the status bar says. Pure. */

import type { DaemonState } from "../bridge/messages.ts";
import { dollarsOf } from "../conversation/amounts.ts";

export interface Status {
	readonly daemon: DaemonState;
	/** Sessions in which a turn runs. */
	readonly running: number;
	/** Questions that wait for the user. */
	readonly waiting: number;
	/** Cost of the chat's session; null if it is not known. */
	readonly costUsd: number | null;
}

export interface Shown {
	readonly text: string;
	readonly detail: string;
	readonly colour: "error" | "warning" | null;
	/** What a click does. */
	readonly command: "pygent.showLog" | "pygent.focusChat";
}

const command = "pygent.showLog";

export function shownOf({ daemon, running, waiting, costUsd }: Status): Shown {
	switch (daemon.state) {
		case "unused":
			return { text: "$(sparkle) pygent", detail: "Starts on first use", colour: null, command: "pygent.focusChat" };
		case "untrusted":
			return undecided("$(shield)", "Not started: this folder is not trusted");
		case "consent":
			return undecided("$(cloud-download)", "Not installed");
		case "installing":
			return { text: "$(loading~spin) pygent", detail: `Setting up: ${daemon.step}`, colour: null, command };
		case "starting":
			return { text: "$(loading~spin) pygent", detail: "Starting", colour: null, command };
		case "stopped":
			return { text: "$(error) pygent", detail: daemon.reason, colour: "error", command };
		case "ready":
			return whileReady(`pygent-ls ${daemon.version}`.trim(), running, waiting, costUsd);
		default: {
			const unknown: never = daemon;
			return unknown;
		}
	}
}

/** The chat says what is to be decided. */
function undecided(icon: string, detail: string): Shown {
	return { text: `${icon} pygent`, detail, colour: null, command: "pygent.focusChat" };
}

function whileReady(name: string, running: number, waiting: number, costUsd: number | null): Shown {
	const cost = costUsd === null ? "" : dollarsOf(costUsd);
	const details = [
		name,
		counted(waiting, "question waiting for you", "questions waiting for you"),
		counted(running, "turn running", "turns running"),
		cost === "" ? "" : `session cost ${cost}`,
	];
	const detail = joined(details, ", ");
	if (waiting > 0) {
		const text = joined(["$(question) pygent asks", cost], " ");
		return { text, detail, colour: "warning", command: "pygent.focusChat" };
	}
	const icon = running > 0 ? "$(sync~spin)" : "$(sparkle)";
	const text = joined([icon, "pygent", running > 1 ? `${running} running` : "", cost], " ");
	return { text, detail, colour: null, command };
}

function joined(parts: readonly string[], by: string): string {
	return parts.filter((each) => each !== "").join(by);
}

function counted(n: number, one: string, more: string): string {
	return n === 0 ? "" : `${n} ${n === 1 ? one : more}`;
}

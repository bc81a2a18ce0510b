/** What a view asks about prompts and the turns that they begin. */

import { randomUUID } from "node:crypto";
import type { Attachment, Calls, Handlers } from "../../bridge/messages.ts";
import type { ContentBlock } from "../../protocol/protocol.ts";
import type { Sessions } from "../../sessions/sessions.ts";
import { completedSymbols, mentioned, withEditorsWords } from "../mentions.ts";
import type { Services } from "../services.ts";
import { folderOfTheUser } from "../session_folder.ts";
import type { NewChat, ShownSession } from "../shown_session.ts";
import { type SideQuestions, sideQuestionOf } from "./side_questions.ts";

type TurnCall = "send" | "stop" | "retry" | "dequeue" | "resume" | "complete";

type Used = Pick<Services, "daemon" | "sessions" | "contexts" | "terminals">;
type Shown = Pick<ShownSession, "sessionId" | "session" | "newChat" | "begin">;

export function turnCalls(services: Used, shown: Shown, asides: SideQuestions): Pick<Handlers, TurnCall> {
	const { daemon, sessions } = services;
	let sending: Promise<unknown> = Promise.resolve();
	return {
		send: (params) => {
			// One after the other, so that the daemon takes them in the order in which they were sent
			const { session, newChat: chat } = shown;
			const cwd = session?.sessionId === params.sessionId ? session.cwd : folderOfTheUser();
			const question = sideQuestionOf(params.text);
			if (question !== null) return askAside(services, shown, asides, { ...params, question }, { chat, cwd });
			const sent = sending.then(() => send(services, shown, params, { chat, cwd }));
			sending = sent.catch(() => undefined);
			return sent;
		},
		stop: async () => {
			const { sessionId } = shown;
			if (sessionId !== null) await daemon.request("pygent/turn/cancel", { sessionId });
			return null;
		},
		retry: async (params) => {
			const { sessionId } = shown;
			if (sessionId === null) return null;
			await daemon.request("pygent/turn/retry", { sessionId, ...params });
			return null;
		},
		dequeue: async ({ turnId }) => {
			const { sessionId } = shown;
			if (sessionId === null) return { removed: false };
			return await daemon.request("pygent/turn/dequeue", { sessionId, turnId });
		},
		resume: async ({ turnId }) => {
			const { sessionId } = shown;
			if (sessionId === null) return null;
			await taken(sessions, sessionId, turnId, daemon.request("pygent/turn/resume", { sessionId, turnId }));
			return null;
		},
		complete: async ({ text, offset }) => {
			const before = text.slice(0, offset);
			const symbols = await completedSymbols(services, before);
			if (symbols !== null) return symbols;
			const { sessionId } = shown;
			const of = sessionId === null ? {} : { sessionId };
			return withEditorsWords(await daemon.request("pygent/complete", { text, offset, ...of }), before);
		},
	};
}

/** Place of the user when they sent a prompt; they may have moved when it is handled. */
interface SentIn {
	/** Handles a prompt that has no session yet. */
	readonly chat: NewChat;
	readonly cwd: string | null;
}

/** Asks a side question at once, whatever runs or waits. */
async function askAside(
	{ daemon }: Used,
	shown: Shown,
	asides: SideQuestions,
	{ question, attachments, ...params }: Calls["send"]["params"] & { readonly question: string },
	{ chat, cwd }: SentIn,
): Promise<Taken> {
	await daemon.settled();
	const sessionId = params.sessionId ?? (await shown.begin(chat, cwd));
	await asides.ask(sessionId, question, promptOf(question, attachments));
	return { turnId: null };
}

async function send(
	services: Used,
	shown: Shown,
	{ text, attachments, steer, ...params }: Calls["send"]["params"],
	{ chat, cwd }: SentIn,
): Promise<Taken> {
	const { daemon, sessions } = services;
	await daemon.settled(); // a prompt is not refused because it came a moment too early
	const known = new Set(attachments.map(({ id }) => id));
	const meant = (await mentioned(services, cwd, text)).filter(({ id }) => !known.has(id));
	const sessionId = params.sessionId ?? (await shown.begin(chat, cwd));
	const prompt = promptOf(text, [...attachments, ...meant]);
	const { runningTurnId } = sessions.feed(sessionId).conversation;
	if (steer && runningTurnId !== null) {
		if (await steered(services, sessionId, runningTurnId, text, prompt)) return { turnId: null };
	}
	const turnId = randomUUID();
	const start = () =>
		taken(sessions, sessionId, turnId, daemon.request("pygent/turn/start", { sessionId, turnId, prompt }));
	await start().catch(async (error: unknown) => {
		if (daemon.state.state === "ready") throw error;
		await daemon.settled(); // it ended before it had taken the prompt, which goes to the next one
		await start();
	});
	return { turnId };
}

/** Shows a message at once, although the model reads it only with its next call. */
async function steered(
	{ daemon, sessions }: Used,
	sessionId: string,
	turnId: string,
	text: string,
	prompt: string | ContentBlock[],
): Promise<boolean> {
	const feed = sessions.feed(sessionId);
	const id = randomUUID();
	let accepted = false;
	feed.apply({ type: "steering", steering: { id, text } });
	try {
		({ accepted } = await daemon.request("pygent/turn/steer", { sessionId, turnId, prompt }));
	} finally {
		if (!accepted) feed.apply({ type: "steering_refused", id });
	}
	return accepted;
}

interface Taken {
	readonly turnId: string | null;
}

/**
 * Returns when the daemon tells of the turn for the first time, or fails with the request: that is answered when the
 * turn is over. Its events come by the feed, and what it ends with is its last event.
 */
async function taken(sessions: Sessions, sessionId: string, turnId: string, over: Promise<unknown>): Promise<void> {
	const feed = sessions.feed(sessionId);
	await new Promise<unknown>((resolve, reject) => {
		const looking = feed.onDidChange((change) => {
			if (change.type === "items" && change.items.turns?.some((turn) => turn.turnId === turnId)) resolve(null);
		});
		over.then(resolve, reject).finally(() => looking.dispose());
	});
}

/** The words, then what is attached. */
function promptOf(text: string, attachments: readonly Attachment[]): string | ContentBlock[] {
	if (attachments.length === 0) return text;
	const words: ContentBlock[] = text === "" ? [] : [{ type: "text", text }];
	return [...words, ...attachments.map(({ block }) => block)];
}

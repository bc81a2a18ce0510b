/** What the parts of the conversation need of the view around them. */

import { createContext, type ReactElement, type ReactNode, useContext, useMemo, useSyncExternalStore } from "react";
import type { Calls, Method } from "../../bridge/messages.ts";
import { reasonOf } from "../../conversation/error_text.ts";
import type { PendingRequest } from "../../conversation/state.ts";
import type { Host } from "../host.ts";
import { type Store, useView } from "../store.ts";

/** How a call went; of one that was refused the user has been told. */
export type Outcome<Result> = { readonly done: true; readonly result: Result } | { readonly done: false };

export type Act = <M extends Method>(method: M, params: Calls[M]["params"]) => Promise<Outcome<Calls[M]["result"]>>;

export interface ConversationContextValue {
	readonly store: Store;
	readonly act: Act;
	readonly folds: Folds;
}

/** What was folded and unfolded, by the key of the item and the part. It outlives what scrolls out of sight. */
export class Folds {
	readonly #open = new Map<string, boolean>();
	readonly #listeners = new Set<() => void>();
	#version = 0;

	/** Another number after each change. */
	get version(): number {
		return this.#version;
	}

	readonly subscribe = (listener: () => void): (() => void) => {
		this.#listeners.add(listener);
		return () => this.#listeners.delete(listener);
	};

	get(key: string): boolean | null {
		return this.#open.get(key) ?? null;
	}

	set(keys: readonly string[], open: boolean): void {
		const changed = keys.filter((key) => this.#open.get(key) !== open);
		if (changed.length === 0) return;
		for (const key of changed) this.#open.set(key, open);
		this.#version += 1;
		for (const listener of this.#listeners) listener();
	}
}

const ConversationContext = createContext<ConversationContextValue | null>(null);
const AsksContext = createContext<readonly PendingRequest[]>([]);

/** Workspace folder that paths are shown relative to; null if it is not known. */
const FolderContext = createContext<string | null>(null);

export function useConversationContext(): ConversationContextValue {
	const context = useContext(ConversationContext);
	if (context === null) throw new Error("A part of the conversation stands outside of it.");
	return context;
}

/** Creates a copy of the session that ends with that turn; an empty session without one. */
export async function forkAt(act: Act, sessionId: string | null, turnId: string | null): Promise<Outcome<null>> {
	if (sessionId === null || turnId === null) return await act("newSession", null);
	return await act("forkSession", { sessionId, atTurnId: turnId });
}

/** The question whether that tool call may run, while it waits for an answer. */
export function useAskOf(toolId: string): Extract<PendingRequest, { type: "permission" }> | null {
	const asks = useContext(AsksContext);
	for (const ask of asks) {
		if (ask.type === "permission" && ask.request.toolCall.toolId === toolId) return ask;
	}
	return null;
}

/** Everything that waits. */
export function useAsks(): readonly PendingRequest[] {
	return useContext(AsksContext);
}

/** Whether what the turn changed in a file was taken back by a restore. */
export function useIsUndone(turnId: string | null, uri: string): boolean {
	const { store } = useConversationContext();
	return useView(store, ({ conversation }) => turnId !== null && (conversation.undone[turnId]?.includes(uri) ?? false));
}

export function useFolder(): string | null {
	return useContext(FolderContext);
}

/** Whether a part is open: as the user last chose, else as it begins. */
export function useFold(key: string, initially: boolean): readonly [boolean, (open: boolean) => void] {
	const { folds } = useConversationContext();
	const chosen = useSyncExternalStore(folds.subscribe, () => folds.get(key));
	return [chosen ?? initially, (open) => folds.set([key], open)];
}

export interface ConversationProviderProps {
	readonly store: Store;
	readonly host: Host;
	readonly asks: readonly PendingRequest[];
	readonly folder: string | null;
	readonly children: ReactNode;
}

export function ConversationProvider({ store, host, asks, folder, children }: ConversationProviderProps): ReactElement {
	const context = useMemo<ConversationContextValue>(() => {
		const act: Act = async (method, params) => {
			try {
				return { done: true, result: await host.call(method, params) };
			} catch (error) {
				store.update({ problem: reasonOf(error) });
				return { done: false };
			}
		};
		return { store, act, folds: new Folds() };
	}, [store, host]);
	return (
		<ConversationContext value={context}>
			<FolderContext value={folder}>
				<AsksContext value={asks}>{children}</AsksContext>
			</FolderContext>
		</ConversationContext>
	);
}

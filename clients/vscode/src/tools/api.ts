/** What other extensions get from this one: they register tools that the model calls, and hooks. */

import type * as vscode from "vscode";
import type { ClientHook, ClientHookResult, ClientTool, ClientToolContent } from "../protocol/protocol.ts";

/** What a call is told besides its arguments. */
export interface ToolCallContext {
	readonly sessionId: string;
	readonly turnId: string;
	/** The session's folder. */
	readonly cwd: string;
	/** Cancelled if the user stops the turn, or the time of the call is over. */
	readonly token: vscode.CancellationToken;
	/** Shows the user output of a call that still runs. */
	readonly progress: (text: string) => void;
}

/** Text for the model, or parts of text and images. An error that is thrown is one that the model reads. */
export type ToolAnswer = string | { readonly content: readonly ClientToolContent[]; readonly isError?: boolean };

export type RunTool = (
	input: Readonly<Record<string, unknown>>,
	context: ToolCallContext,
) => ToolAnswer | Promise<ToolAnswer>;

type HookAnswer = ClientHookResult | null | undefined;

/** Decides on an event; docs/hooks.md describes the input and the answer. Null decides nothing. */
export type RunHook = (
	input: Readonly<Record<string, unknown>>,
	token: vscode.CancellationToken,
) => HookAnswer | Promise<HookAnswer>;

/** Returned by `activate`. */
export interface PygentApi {
	/** Offers a tool to the model as `editor__NAME`, until it is disposed. Raises if the name is taken. */
	readonly registerTool: (tool: ClientTool, run: RunTool) => vscode.Disposable;
	/** Runs a callback at an event, until it is disposed. Raises if the id is taken. */
	readonly registerHook: (hook: ClientHook, run: RunHook) => vscode.Disposable;
}

/** With what the session goes on: its model, agent and mode; before there is a session, those that it will begin with. */

import * as vscode from "vscode";
import { lackedKeyOf } from "../models.ts";
import type { Handlers, Panel } from "../panel.ts";

type Choosing = "setModel" | "setAgent" | "setMode" | "newSession";

export function choosingCalls(panel: Panel): Pick<Handlers, Choosing> {
	const { daemon } = panel.services;
	const choose = async (chosen: Partial<Panel["choices"]>, configure: () => Promise<unknown>): Promise<null> => {
		if (panel.sessionId === null) panel.choices = { ...panel.choices, ...chosen };
		else await configure();
		await panel.refresh();
		return null;
	};
	const configure = (params: { readonly model?: string; readonly agent?: string }) =>
		daemon.request("pygent/session/configure", { sessionId: panel.sessionId ?? "", ...params });
	return {
		setModel: async (params) => {
			const lacked = lackedKeyOf(panel.services.surroundings.state, params.model);
			if (lacked !== undefined && !(await vscode.commands.executeCommand<boolean>("pygent.setApiKey", lacked)))
				return null;
			return await choose(params, () => configure(params));
		},
		setAgent: (params) => choose(params, () => configure(params)),
		setMode: ({ mode }) =>
			choose({ mode }, () => daemon.request("pygent/permission/setMode", { sessionId: panel.sessionId ?? "", mode })),
		newSession: async () => {
			panel.show(null);
			return null;
		},
	};
}

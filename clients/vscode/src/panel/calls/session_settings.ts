/** Settings of the session: model, agent and mode; before there is a session, those of the next one. */

import * as vscode from "vscode";
import type { Handlers } from "../../bridge/messages.ts";
import { lackedKeyOf } from "../models.ts";
import type { Services } from "../services.ts";
import type { ShownSession } from "../shown_session.ts";

type SettingCall = "setModel" | "setAgent" | "setMode" | "newSession";

export function sessionSettingCalls(
	{ daemon, windowState }: Pick<Services, "daemon" | "windowState">,
	shown: Pick<ShownSession, "sessionId" | "choices" | "refresh" | "show">,
): Pick<Handlers, SettingCall> {
	const choose = async (chosen: Partial<ShownSession["choices"]>, configure: () => Promise<unknown>): Promise<null> => {
		if (shown.sessionId === null) shown.choices = { ...shown.choices, ...chosen };
		else await configure();
		await shown.refresh();
		return null;
	};
	const configure = (params: { readonly model?: string; readonly agent?: string }) =>
		daemon.request("pygent/session/configure", { sessionId: shown.sessionId ?? "", ...params });
	return {
		setModel: async (params) => {
			const lacked = lackedKeyOf(windowState.state, params.model);
			if (lacked !== undefined && !(await vscode.commands.executeCommand<boolean>("pygent.setApiKey", lacked)))
				return null;
			return await choose(params, () => configure(params));
		},
		setAgent: (params) => choose(params, () => configure(params)),
		setMode: ({ mode }) =>
			choose({ mode }, () => daemon.request("pygent/permission/setMode", { sessionId: shown.sessionId ?? "", mode })),
		newSession: async () => {
			shown.show(null);
			return null;
		},
	};
}

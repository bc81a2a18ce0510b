/** What a view does with code that is for a shell. */

import * as vscode from "vscode";
import type { Calls } from "../../bridge/messages.ts";
import { hidesSomething, isForShell, typedOf } from "../../conversation/shell_code.ts";
import type { Handlers, Panel } from "../panel.ts";
import { folderOfTheUser } from "../session_folder.ts";

export function runningCalls(panel: Panel): Pick<Handlers, "runInTerminal"> {
	return {
		runInTerminal: async (params) => {
			const text = typedFor(params, vscode.workspace.isTrusted);
			await panel.services.commandTerminal.type(text, panel.session?.cwd ?? folderOfTheUser());
			return null;
		},
	};
}

/** What is typed. Raises, with words for the user, where nothing may be. */
export function typedFor({ code, language }: Calls["runInTerminal"]["params"], isTrusted: boolean): string {
	if (!isTrusted) throw new Error("This folder is not trusted: no command is run here.");
	if (!isForShell(language)) throw new Error(`${language === "" ? "This code" : language} is not for a terminal.`);
	const text = typedOf(code);
	if (text === "") throw new Error("Which lines of this code are commands cannot be told. Copy them instead.");
	if (hidesSomething(text)) throw new Error("The command has invisible characters: copy it, and look at it first.");
	return text;
}

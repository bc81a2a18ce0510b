/** What a view does with code that is for a shell. */

import * as vscode from "vscode";
import type { Calls, Handlers } from "../../bridge/messages.ts";
import { hidesSomething, isForShell, typedOf } from "../../conversation/shell_code.ts";
import type { CommandTerminal } from "../../editor/command_terminal.ts";
import { folderOfTheUser } from "../session_folder.ts";
import type { ShownSession } from "../shown_session.ts";

export function terminalCalls(
	terminal: CommandTerminal,
	shown: Pick<ShownSession, "session">,
): Pick<Handlers, "runInTerminal"> {
	return {
		runInTerminal: async (params) => {
			const text = typedFor(params, vscode.workspace.isTrusted);
			await terminal.type(text, shown.session?.cwd ?? folderOfTheUser());
			return null;
		},
	};
}

/** Returns the text to type. Raises, with a message for the user, if nothing may be typed. */
export function typedFor({ code, language }: Calls["runInTerminal"]["params"], isTrusted: boolean): string {
	if (!isTrusted) throw new Error("This folder is not trusted: no command is run here.");
	if (!isForShell(language)) throw new Error(`${language === "" ? "This code" : language} is not for a terminal.`);
	const text = typedOf(code);
	if (text === "") throw new Error("Which lines of this code are commands cannot be told. Copy them instead.");
	if (hidesSomething(text)) throw new Error("The command has invisible characters: copy it, and look at it first.");
	return text;
}

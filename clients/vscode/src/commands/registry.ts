/** Commands of the palette: what goes wrong in one is said to the user in words, and nowhere else. */

import * as vscode from "vscode";
import { reasonOf } from "../conversation/error_text.ts";
import { plain } from "./plain_text.ts";

export type Commands = Readonly<Record<string, (...args: readonly unknown[]) => unknown>>;

/** Registers commands by their names without `pygent.`. */
export function registerCommands(commands: Commands): vscode.Disposable {
	const all = Object.entries(commands).map(([name, run]) =>
		vscode.commands.registerCommand(`pygent.${name}`, async (...args: readonly unknown[]) => {
			try {
				return await run(...args);
			} catch (error) {
				void vscode.window.showWarningMessage(plain(reasonOf(error)));
				return undefined;
			}
		}),
	);
	return vscode.Disposable.from(...all);
}

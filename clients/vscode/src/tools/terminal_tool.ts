/** The tool that opens a terminal that the user sees, with a command that runs in it. */

import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import * as vscode from "vscode";
import type { ClientTool } from "../protocol/protocol.ts";
import type { RunTool } from "./api.ts";

export const OPEN_TERMINAL: ClientTool = {
	name: "open_terminal",
	description:
		"Open a terminal that the user sees and can type in, and run a command in it, such as a program that needs the " +
		"user's input. You do not get its output: to read output yourself, use shell.",
	inputSchema: {
		type: "object",
		properties: { command: { type: "string", description: "A bash command line; empty for a terminal only." } },
		additionalProperties: false,
	},
	commandArgument: "command",
};

/**
 * Runs the command in bash, by which the daemon has judged it, and then the user's shell. It is not typed: the user's
 * shell would read it by other rules, and a terminal takes control characters for keys.
 */
const SCRIPT = `printf '$ %s\\n' "$1"; "$0" -c "$1"; printf '[exit code %s]\\n' "$?"; exec "\${SHELL:-$0}"`;

export const openTerminal: RunTool = ({ command = "" }, { cwd }) => {
	const line = String(command);
	const shell = line === "" ? {} : { shellPath: bash(), shellArgs: ["-c", SCRIPT, bash(), line] };
	const iconPath = new vscode.ThemeIcon("sparkle");
	vscode.window.createTerminal({ name: "pygent", iconPath, cwd, ...shell }).show(true);
	return line === "" ? "A terminal was opened." : "A terminal was opened, and the command was started in it.";
};

/** Prefers the folders of the system: others in PATH may be in the workspace. Raises if bash is not installed. */
function bash(): string {
	const folders = ["/bin", "/usr/bin", ...(process.env["PATH"] ?? "").split(delimiter)];
	const found = folders.map((folder) => join(folder, "bash")).find((path) => path.startsWith("/") && existsSync(path));
	if (found === undefined)
		throw new Error("bash is not installed, so the command was not run. Open a terminal without one.");
	return found;
}

/** Asks for keys of providers. */

import * as vscode from "vscode";
import { KEY, KEY_VARIABLE, PROVIDERS } from "../../conversation/providers.ts";
import type { KeySync } from "../../daemon/key_sync.ts";

/**
 * Asks for the API key of the provider that reads it from the variable `wanted`; with null the user chooses the
 * provider. Returns whether a key was saved.
 */
export async function setApiKey(keys: KeySync, wanted: string | null): Promise<boolean> {
	const known = await keys.all();
	const variable = wanted ?? (await pickVariable(Object.keys(known)));
	if (variable === undefined) return false;
	const name = PROVIDERS[variable] ?? variable;
	const isKnown = variable in known;
	const typed = await vscode.window.showInputBox({
		title: `API key of ${name}`,
		prompt: `Saved in the editor's secret storage and passed only to pygent, as ${variable}.${isKnown ? " Leave it empty to remove the saved key." : ""}`,
		password: true,
		ignoreFocusOut: true,
		validateInput: (value) =>
			value.trim() === "" || KEY.test(value.trim())
				? null
				: "This is not a valid key: it contains a space or another invalid character.",
	});
	const key = typed?.trim();
	if (key === undefined || (key === "" && !isKnown)) return false;
	await (key === "" ? keys.remove(variable) : keys.set(variable, key));
	void vscode.window.showInformationMessage(`${name} key ${key === "" ? "removed" : "saved"}.`);
	return key !== "";
}

async function pickVariable(known: readonly string[]): Promise<string | undefined> {
	const items = [...new Set([...Object.keys(PROVIDERS), ...known])].map((variable) => ({
		label: PROVIDERS[variable] ?? variable,
		description: variable,
		detail: known.includes(variable) ? "Key saved" : "",
	}));
	const other = { label: "Another provider…", description: "" };
	const chosen = await vscode.window.showQuickPick([...items, other], { title: "Choose the provider of the key" });
	if (chosen !== other) return chosen?.description;
	return await vscode.window.showInputBox({
		title: "Environment variable of the provider",
		prompt: "Environment variable that litellm reads the key from, such as TOGETHERAI_API_KEY",
		validateInput: (value) =>
			KEY_VARIABLE.test(value) ? null : "Use capital letters, and end the name in KEY, TOKEN or SECRET",
	});
}

/** The section `pygent` of the editor's configuration, as the daemon asks for it and is told of its changes. */

import * as vscode from "vscode";
import type { Middleware } from "vscode-languageclient/node";
import { daemonSettings, type Nested, nested } from "./settings.ts";

/** What changes how the daemon is started: it counts after a restart. */
const OF_THE_START = [
	"pygent.server.path",
	"pygent.server.python",
	"pygent.server.env",
	"pygent.trace",
	"pygent.review",
] as const;

const SECTION = "pygent";

/** Sends only what the user set: the defaults are the daemon's, and its own files may override them. */
export function configurationMiddleware(
	manifest: unknown,
): Required<Pick<NonNullable<Middleware["workspace"]>, "configuration">> &
	Pick<NonNullable<Middleware["workspace"]>, "didChangeConfiguration"> {
	const names = daemonSettings(declaredSettings(manifest));
	return {
		configuration: (params, token, next) =>
			params.items.every(({ section }) => section === SECTION)
				? params.items.map(() => settingsOfTheUser(names))
				: next(params, token),
		// The library would send the section with all defaults; asked for, it is sent as above.
		didChangeConfiguration: (_sections, next) => next(undefined),
	};
}

/** The names of all settings in a manifest. */
export function declaredSettings(manifest: unknown): readonly string[] {
	const { contributes } = manifest as {
		readonly contributes: { readonly configuration: readonly { readonly properties: object }[] };
	};
	return contributes.configuration.flatMap(({ properties }) => Object.keys(properties));
}

/** Calls back when a setting changed that counts only after a restart. */
export function onStartSettings(changed: () => void): vscode.Disposable {
	return vscode.workspace.onDidChangeConfiguration((event) => {
		if (OF_THE_START.some((name) => event.affectsConfiguration(name))) changed();
	});
}

function settingsOfTheUser(names: readonly string[]): Nested {
	const settings = vscode.workspace.getConfiguration(SECTION);
	const values = Object.fromEntries(
		names.map((name) => [name, isSet(settings.inspect(name)) ? settings.get(name) : undefined]),
	);
	return nested(values);
}

/** Values of a workspace are ignored: all our settings have machine scope. */
function isSet(inspected: { readonly globalValue?: unknown } | undefined): boolean {
	return inspected?.globalValue !== undefined;
}

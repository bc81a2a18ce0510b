/** What a person reads where the daemon's environment cannot be made. Pure. */

import { OLDEST, type Python } from "./python.ts";

/** The environment could not be made; `message` says why, and what would help. */
export class SetupError extends Error {
	/** What the user can do about it here. */
	readonly remedy: "python" | "path" | "log";

	constructor(message: string, remedy: "python" | "path" | "log") {
		super(message);
		this.remedy = remedy;
	}
}

const OLDEST_TEXT = OLDEST.join(".");

/** No Python can make an environment. `configured` is the setting's value, `found` what answered. */
export function noPython(platform: NodeJS.Platform, configured: string, found: readonly Python[]): SetupError {
	const old = found.find((each) => !each.isNewEnough);
	const bare = found.find((each) => each.isNewEnough && !each.makesEnvironments);
	if (configured !== "") {
		const why =
			bare !== undefined
				? "has no module venv with ensurepip"
				: old !== undefined
					? `is Python ${old.version}, and pygent needs ${OLDEST_TEXT} or newer`
					: "does not run or is not Python";
		return new SetupError(`${configured} ${why}. Correct the setting pygent.server.python.`, "python");
	}
	if (bare !== undefined) {
		const [major, minor] = bare.version.split(".");
		return new SetupError(
			`Python ${bare.version} (${bare.executable}) cannot make environments: install its venv module ` +
				`(\`sudo apt install python${major}.${minor}-venv\` on Debian and Ubuntu), or name another Python in the setting ` +
				"pygent.server.python.",
			"python",
		);
	}
	const only = old === undefined ? "none was found" : `only Python ${old.version} (${old.executable}) was found`;
	return new SetupError(
		`pygent needs Python ${OLDEST_TEXT} or newer, and ${only}. Install it (${installing(platform)}), then restart ` +
			"pygent, or name one in the setting pygent.server.python.",
		"python",
	);
}

function installing(platform: NodeJS.Platform): string {
	if (platform === "win32") return "from python.org, or `winget install Python.Python.3.13`";
	if (platform === "darwin") return "from python.org, or `brew install python`";
	return "`sudo apt install python3 python3-venv` on Debian and Ubuntu, your package manager's python3 elsewhere";
}

const OFFLINE =
	/name resolution|getaddrinfo failed|nodename nor servname|Name or service not known|Network is unreachable|No route to host|Failed to establish a new connection|NewConnectionError|ConnectTimeout|Cannot connect to proxy|ProxyError|dns error|tcp connect error|error sending request|client error \(Connect\)/i;

const UNTRUSTED = /CERTIFICATE_VERIFY_FAILED|invalid peer certificate|UnknownIssuer|self[- ]signed certificate/i;

/** No release that fits: what pip says, and what uv says. */
const NONE_FITS = /No matching distribution found|ResolutionImpossible|No solution found/;

/** Whether an installer failed with this output because a pinned release cannot be had for this machine. */
export function lacksPinned(output: string): boolean {
	return NONE_FITS.test(output) && !UNTRUSTED.test(output) && !OFFLINE.test(output);
}

/** A command of the making failed with this output. */
export function stepFailed(say: string, output: string): SetupError {
	if (UNTRUSTED.test(output)) {
		return new SetupError(
			"pygent's packages could not be downloaded: the certificate of the package index is not trusted here. Behind a " +
				"company's proxy, name its certificates in SSL_CERT_FILE and PIP_CERT, in the environment or in the setting " +
				"pygent.server.env, and restart pygent.",
			"log",
		);
	}
	if (OFFLINE.test(output)) {
		return new SetupError(
			"pygent's packages could not be downloaded: the package index cannot be reached. Connect to the network, or set " +
				"HTTPS_PROXY or pip's own configuration, and restart pygent. Without a network, install pygent-ls yourself and name " +
				"it in the setting pygent.server.path.",
			"log",
		);
	}
	return new SetupError(`pygent's environment could not be created (${say}): ${lastError(output)}`, "log");
}

/** The line that says most about what went wrong: the last that calls itself an error, else the last one. */
export function lastError(output: string): string {
	const lines = output
		.split(/\r?\n/)
		.map((line) => line.trim())
		.filter((line) => line !== "");
	const telling = lines.filter((line) => /^(?:ERROR|error|fatal)\b|^\w*Error:|^×/i.test(line));
	return telling.at(-1) ?? lines.at(-1) ?? "no output";
}

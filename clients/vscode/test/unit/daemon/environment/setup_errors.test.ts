import assert from "node:assert/strict";
import { test } from "node:test";
import type { Python } from "../../../../src/daemon/environment/python.ts";
import { lacksPinned, lastError, noPython, stepFailed } from "../../../../src/daemon/environment/setup_errors.ts";

const OLD: Python = {
	executable: "/usr/bin/python3",
	version: "3.9.2",
	isNewEnough: false,
	makesEnvironments: true,
};
const BARE: Python = { executable: "/usr/bin/python3", version: "3.12.3", isNewEnough: true, makesEnvironments: false };

test("without any Python it is said what to install on this system", () => {
	assert.match(
		noPython("linux", "", []).message,
		/needs Python 3\.11 or newer, and none was found.*apt install python3/,
	);
	assert.match(noPython("darwin", "", []).message, /brew install python/);
	assert.match(noPython("win32", "", []).message, /winget install/);
	assert.equal(noPython("linux", "", []).remedy, "python");
});

test("with an old one alone it is said which", () => {
	assert.match(noPython("linux", "", [OLD]).message, /only Python 3\.9\.2 \(\/usr\/bin\/python3\) was found/);
});

test("where only Debian's package with venv is missing, that package is named", () => {
	assert.match(noPython("linux", "", [BARE]).message, /apt install python3\.12-venv/);
});

test("what is wrong with the Python of the setting is said, and the setting named", () => {
	assert.match(noPython("linux", "/opt/py", []).message, /^\/opt\/py does not run.*pygent\.server\.python\.$/);
	assert.match(noPython("linux", "/opt/py", [OLD]).message, /^\/opt\/py is Python 3\.9\.2, and pygent needs 3\.11/);
	assert.match(noPython("linux", "/opt/py", [BARE]).message, /^\/opt\/py has no module venv/);
});

test("a package index that cannot be reached is called so", () => {
	const output = [
		"WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError('...: Failed to establish a new connection: [Errno -3] Temporary failure in name resolution')': /simple/pydantic/",
		"ERROR: Could not find a version that satisfies the requirement pydantic<3,>=2.10 (from versions: none)",
		"ERROR: No matching distribution found for pydantic<3,>=2.10",
	].join("\n");

	assert.match(stepFailed("installing packages", output).message, /cannot be reached.*pygent\.server\.path/);
	assert.match(stepFailed("installing packages", "error: dns error: failed to lookup").message, /cannot be reached/);
});

test("a company's certificate that is not trusted is called so", () => {
	const output =
		"error: Failed to fetch: https://pypi.org\n  client error (Connect)\n  invalid peer certificate: UnknownIssuer";

	assert.match(stepFailed("installing packages", output).message, /certificate .* is not trusted here.*PIP_CERT/);
});

test("a pinned release that cannot be had is told from an index that cannot be reached", () => {
	const none = "ERROR: No matching distribution found for numpy==2.0.0";
	const uv = "  × No solution found when resolving dependencies:\n  ╰─▶ Because litellm==1.2.3 has no wheels";

	assert.ok(lacksPinned(none));
	assert.ok(lacksPinned(uv));
	assert.ok(!lacksPinned(`Temporary failure in name resolution\n${none}`));
	assert.ok(!lacksPinned(`certificate verify failed: CERTIFICATE_VERIFY_FAILED\n${none}`));
	assert.ok(!lacksPinned("ERROR: Could not install packages due to an OSError: No space left on device"));
});

test("of any other failure the last line that is an error is shown", () => {
	const output = "Collecting x\nERROR: No matching distribution found for x\n[notice] A new release of pip\n";

	assert.equal(lastError(output), "ERROR: No matching distribution found for x");
	assert.match(stepFailed("installing packages", output).message, /\(installing packages\): ERROR: No matching/);
	assert.equal(lastError("no space left on device\n\n"), "no space left on device");
	assert.equal(lastError(""), "no output");
});

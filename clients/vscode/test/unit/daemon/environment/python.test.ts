import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
	candidates,
	creationStep,
	installationStep,
	makersOf,
	OLDEST,
	PROBE,
	type Python,
	pythonIn,
	pythonOf,
	type Step,
	sourceOf,
	stepIn,
	withoutMissing,
} from "../../../../src/daemon/environment/python.ts";
import { PYTHON, REPOSITORY } from "../../../paths.ts";

function python(changes: Partial<Python>): Python {
	return { executable: "/usr/bin/python3", version: "3.12.4", isNewEnough: true, makesEnvironments: true, ...changes };
}

test("the oldest Python is the one that the package asks for", () => {
	const project = readFileSync(join(REPOSITORY, "pyproject.toml"), "utf8");

	assert.equal(/^requires-python = ">=([\d.]+)"$/m.exec(project)?.[1], OLDEST.join("."));
});

test("the Python that the user named is the only one that is tried", () => {
	assert.deepEqual(candidates("linux", "/opt/python"), [{ command: "/opt/python", args: [] }]);
});

test("without a name the newest comes first, and the plain names last; Windows has its launcher", () => {
	const calls = (platform: NodeJS.Platform) =>
		candidates(platform, "").map(({ command, args }) => [command, ...args].join(" "));

	assert.deepEqual(calls("linux"), ["python3.14", "python3.13", "python3.12", "python3.11", "python3", "python"]);
	assert.deepEqual(calls("win32"), ["py -3.14", "py -3.13", "py -3.12", "py -3.11", "python3", "python"]);
});

test("a Python says itself what it is", () => {
	const { stdout } = spawnSync(PYTHON, ["-I", "-c", PROBE], { encoding: "utf8" });
	const found = pythonOf(stdout);

	assert.equal(found?.executable, PYTHON);
	assert.match(found?.version ?? "", /^3\.\d+\.\d+$/);
	assert.deepEqual([found?.isNewEnough, found?.makesEnvironments], [true, true]);
});

test("what a shim or a stand-in prints is no Python", () => {
	assert.equal(pythonOf("pyenv: python3.13: command not found\n"), null);
	assert.equal(pythonOf("Python was not found; run without arguments to install from the Microsoft Store\n"), null);
	assert.equal(pythonOf('["", [3, 12, 1], true]'), null);
	assert.equal(pythonOf('{"version": 3}'), null);
	assert.equal(pythonOf(""), null);
});

test("what a startup file prints before it does not matter", () => {
	assert.equal(pythonOf('welcome\r\n["C:\\\\py.exe", [3, 11, 0], true]\r\n')?.executable, "C:\\py.exe");
});

test("an old Python is found, and not taken", () => {
	const old = pythonOf('["/usr/bin/python3", [3, 9, 2], true]');

	assert.deepEqual(old, python({ version: "3.9.2", isNewEnough: false }));
	assert.deepEqual(makersOf(old === null ? [] : [old], false), []);
});

test("uv goes first, and a Python that makes environments itself is the other way", () => {
	const bare = python({ makesEnvironments: false });
	const whole = python({ executable: "/usr/bin/python3.11" });

	assert.deepEqual(makersOf([bare, whole], true), [
		{ type: "uv", python: bare },
		{ type: "venv", python: whole },
	]);
	assert.deepEqual(makersOf([whole], false), [{ type: "venv", python: whole }]);
	assert.deepEqual(makersOf([], true), [{ type: "uv", python: null }]);
	assert.deepEqual(makersOf([bare], false), []);
});

const spelled = ({ command, args }: Step): string => [command, ...args].join(" ");

test("uv gets a Python itself where there is none", () => {
	const uv = { type: "uv", python: null } as const;

	assert.equal(spelled(creationStep(uv, "/env")), "uv venv --no-project --python >=3.11 /env");
	assert.equal(
		spelled(installationStep(uv, pythonIn("/env", "linux"), "/w.whl", null)),
		"uv pip install --python /env/bin/python /w.whl",
	);
});

test("of pinned releases wheels alone are taken", () => {
	for (const maker of [{ type: "uv", python: null } as const, { type: "venv", python: python({}) } as const]) {
		const { args } = installationStep(maker, "/env/bin/python", "/w.whl", "/pins.txt");

		assert.deepEqual(args.slice(-5), ["--only-binary", ":all:", "--constraint", "/pins.txt", "/w.whl"]);
	}
});

test("only the pins that an installer complains of are left out", () => {
	const pins = ["soup==4.1.2; python_full_version >= '3.11.5'", "soup-sieve==4.1.2", "yarl==1.0", "Jinja==4.1.2"];
	const downloads = "Collecting yarl==1.0\n  Downloading yarl-1.0.whl";
	const impossible = "    beautiful 4.15.0 depends on soup>=1.6\n    The user requested (constraint) soup==4.1.2";
	const none = "ERROR: No matching distribution found for soup-sieve!=3,==4.1.2";
	const uv = "  ╰─▶ Because jinja==4.1.2 has no wheels with a matching tag and (you require) soup==4.1.2,";

	assert.deepEqual(withoutMissing(pins, `${downloads}\n${impossible}`), pins.slice(1));
	assert.deepEqual(withoutMissing(pins, none), [pins[0], pins[2], pins[3]]);
	assert.deepEqual(withoutMissing(pins, uv), [pins[1], pins[2]]);
	assert.deepEqual(withoutMissing(pins, downloads), pins);
});

test("what pip prints becomes what a person reads", () => {
	const lines = [
		"Processing /x/pygent_ls-0.1.0-py3-none-any.whl",
		"Collecting litellm!=1.82.7,>=1.106 (from pygent-ls==0.1.0)",
		"  Downloading tree_sitter_bash-0.25.0-cp311-abi3-manylinux_2_17_x86_64.whl (1.2 MB)",
		"Requirement already satisfied: pip in /x",
		"Installing collected packages: a, b",
	];

	assert.deepEqual(lines.map(stepIn), [
		null,
		"looking up litellm",
		"downloading tree-sitter-bash (1.2 MB)",
		null,
		"putting the packages in place",
	]);
});

test("packages come from the index that the environment names, else from pypi.org", () => {
	assert.equal(sourceOf({}), "pypi.org");
	assert.equal(sourceOf({ PIP_INDEX_URL: "https://user:secret@index.example/simple" }), "index.example");
	assert.equal(sourceOf({ PIP_INDEX_URL: "not a URL", UV_INDEX_URL: "" }), "pypi.org");
});

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { copyFile, readdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { basename, delimiter, join } from "node:path";
import { after, before, test } from "node:test";
import {
	type EnvironmentOptions,
	environmentPython,
	keepInUse,
	UNUSED_MS,
} from "../../../../src/daemon/environment/environment.ts";
import { PYTHON, Scratch } from "../../../paths.ts";
import { buildWheel, withPackagesOfTheRepository } from "../../../wheels.ts";

let scratch: Scratch;
let wheel: string;
let linked: Readonly<Record<string, string>>;
/** A Python that makes an environment by copying one that was made beforehand: as real, in a twentieth of the time. */
let copying: string;

before(async () => {
	scratch = await Scratch.create();
	wheel = await buildWheel(scratch);
	// Nothing runs often enough here to be worth compiling.
	linked = { ...(await withPackagesOfTheRepository(scratch)), PIP_NO_COMPILE: "1" };
	copying = await copyingPython();
});

async function copyingPython(): Promise<string> {
	const made = join(scratch.path, "made");
	assert.equal(spawnSync(PYTHON, ["-I", "-m", "venv", made]).status, 0);
	const path = join(await scratch.folder("copying"), "python3");
	const lines = [
		"#!/bin/sh",
		`[ "$2 $3" = "-m venv" ] && exec cp -Rp "${made}" "$4"`,
		`[ "$2" = -c ] && exec echo '["${path}", [3, 11, 0], true]'`,
	];
	await writeFile(path, `${lines.join("\n")}\n`, { mode: 0o755 });
	return path;
}

after(async () => {
	await scratch[Symbol.asyncDispose]();
});

/** A making that says what it does into `said`, in a storage of its own. */
function making(
	name: string,
	changes: Partial<EnvironmentOptions> = {},
): EnvironmentOptions & { readonly said: string[]; lines: string[] } {
	const said: string[] = [];
	const lines: string[] = [];
	return {
		storage: join(scratch.path, name),
		wheel,
		configured: copying,
		env: { ...process.env, ...linked },
		say: (step) => said.push(step),
		log: (line) => lines.push(line),
		signal: new AbortController().signal,
		allow: () => undefined,
		said,
		lines,
		...changes,
	};
}

function version(python: string): string {
	return spawnSync(python, ["-I", "-m", "pygent_ls", "--version"], { encoding: "utf8" }).stdout.trim();
}

async function lookUnused(folder: string): Promise<void> {
	const long = new Date(Date.now() - UNUSED_MS - 1000);
	await utimes(join(folder, "ready.json"), long, long);
}

async function environmentsIn(storage: string): Promise<readonly string[]> {
	return (await readdir(storage, { withFileTypes: true })).filter((each) => each.isDirectory()).map(({ name }) => name);
}

test("two windows at once make one environment, say so, and the next start uses it", async () => {
	const [one, other] = [making("kept", { configured: PYTHON }), making("kept", { configured: PYTHON })];
	const half = await scratch.folder("kept/pygent_ls-0.1.0-half", { "bin/python": "half" });
	const old = await scratch.folder("kept/pygent_ls-0.0.1-old", { "ready.json": '{"wheel":"1","configured":""}' });
	const used = await scratch.folder("kept/pygent_ls-0.0.2-used", { "ready.json": '{"wheel":"2","configured":""}' });
	await lookUnused(old);

	const [python, same] = await Promise.all([environmentPython(one), environmentPython(other)]);

	assert.equal(python, same);
	assert.match(version(python), /^pygent-ls \d/);
	const [maker, waiter] = one.said[0] === "looking for Python" ? [one, other] : [other, one];
	assert.match(maker.said[1] ?? "", /^making an environment with Python 3\./);
	assert.ok(maker.said.includes("putting the packages in place"));
	assert.ok(maker.lines.some((line) => line.startsWith("Successfully installed")));
	assert.deepEqual(waiter.said, ["another window is creating the environment"]);

	const next = making("kept", { configured: PYTHON });
	assert.equal(await environmentPython(next), python);
	assert.deepEqual(next.said, []);
	assert.ok(!existsSync(half), "what a killed window left is thrown away");
	assert.ok(!existsSync(old), "nobody has used it for long");
	assert.ok(existsSync(used), "a window may have it open");
	assert.equal((await environmentsIn(next.storage)).length, 2);
});

test("nothing is made, and no folder, before it is allowed; what is there already is used without asking", async () => {
	const refuse = () => {
		throw new Error("not allowed");
	};

	await assert.rejects(environmentPython(making("refused", { allow: refuse })), /not allowed/);

	assert.ok(!existsSync(join(scratch.path, "refused")));
	await environmentPython(making("allowed"));
	await environmentPython(making("allowed", { allow: refuse }));
});

test("one whose Python is gone is made again", async () => {
	const python = await environmentPython(making("kept"));
	await rm(python);

	const again = await environmentPython(making("kept"));

	assert.notEqual(again, python);
	assert.match(version(again), /^pygent-ls/);
	assert.ok(!existsSync(join(python, "../..")));
});

test("versions are those of the pins beside the wheel, but for those that cannot be had here", async () => {
	const folder = await scratch.folder("pinned-wheel", { "pins.txt": "# tested\nlinked-packages==1.0\nother==3.0\n" });
	const pinned = { wheel: join(folder, basename(wheel)) };
	await copyFile(wheel, pinned.wheel);
	const given = making("pinned", pinned);

	const python = await environmentPython(given);

	assert.match(version(python), /^pygent-ls/);
	const pins = (python: string) => readFile(join(python, "../../pins.txt"), "utf8");
	assert.equal(await pins(python), "linked-packages==1.0\nother==3.0\n");
	assert.ok(given.lines.some((line) => line.includes("--constraint")));
	assert.ok(!given.lines.some((line) => line.includes("not available here")));

	await writeFile(join(folder, "pins.txt"), "linked-packages==2.0\nother==3.0\n");
	const changed = making("pinned", pinned);
	const other = await environmentPython(changed);

	assert.notEqual(other, python, "other pins make another environment");
	assert.ok(changed.lines.some((line) => line.endsWith("not available here: 1.")));
	assert.equal(await pins(other), "other==3.0\n");
});

test("whoever uses an environment says so", async () => {
	const folder = await scratch.folder("used/environment", { "ready.json": "{}", "bin/python": "" });
	await lookUnused(folder);
	const modified = async () => (await stat(join(folder, "ready.json"))).mtimeMs;
	const before = await modified();

	const use = keepInUse(join(folder, "bin/python"));
	const deadline = performance.now() + 5000;
	while ((await modified()) === before && performance.now() < deadline);
	use.dispose();

	assert.ok((await modified()) - before > UNUSED_MS);
});

test("a package index that cannot be reached is told in words that help, and nothing half made is left", async () => {
	const env = { ...process.env, PIP_INDEX_URL: "http://127.0.0.1:9/simple", PIP_CONFIG_FILE: "/dev/null" };
	const offline = making("offline", { env });

	await assert.rejects(environmentPython(offline), {
		remedy: "log",
		message: /the package index cannot be reached\. Connect to the network.*pygent\.server\.path/,
	});
	assert.ok(offline.lines.some((line) => line.startsWith("ERROR: Could not find a version")));
	assert.deepEqual(await readdir(offline.storage), []);
});

test("giving up ends what runs, and leaves nothing", async () => {
	const giveUp = new AbortController();
	const given = making("given-up", {
		signal: giveUp.signal,
		say: (step) => {
			if (step.startsWith("making")) giveUp.abort();
		},
	});

	await assert.rejects(environmentPython(given), { name: "AbortError" });
	assert.deepEqual(await readdir(given.storage), []);
});

test("a window that is killed while it makes one does not hold up the next", async () => {
	const storage = await scratch.folder("killed");
	const script = join(import.meta.dirname, "environment_process.ts");
	const maker = spawn(process.execPath, [script, storage, wheel, copying], {
		env: { ...process.env, ...linked },
		stdio: ["ignore", "pipe", "inherit"],
		detached: true,
	});
	await once(maker.stdout, "data");
	assert.ok(maker.pid !== undefined && maker.exitCode === null);
	process.kill(-maker.pid, "SIGKILL");
	await once(maker, "exit");
	const next = making("killed");

	assert.match(version(await environmentPython(next)), /^pygent-ls/);
	assert.equal((await environmentsIn(storage)).length, 1);
});

test("shims that cannot run and old Pythons are passed by, and a PYTHONPATH does not pass for what is installed", async () => {
	const folder = await scratch.folder("shims");
	for (const [name, line] of [
		["python3.14", "echo 'pyenv: python3.14: command not found' >&2; exit 127"],
		["python3.13", "echo '[\"/old\", [3, 9, 1], true]'"],
		["python3.12", `exec ${copying} "$@"`],
	] as const) {
		await writeFile(join(folder, name), `#!/bin/sh\n${line}\n`, { mode: 0o755 });
	}
	const elsewhere = await scratch.folder("elsewhere", { "pygent_ls/__init__.py": "raise SystemExit(3)" });
	const PATH = [folder, "/usr/bin", "/bin"].join(delimiter);
	const found = making("found", { configured: "", env: { ...process.env, ...linked, PATH, PYTHONPATH: elsewhere } });

	assert.match(version(await environmentPython(found)), /^pygent-ls/);
	assert.ok(found.lines.some((line) => line.startsWith("python3.12 is Python 3.")));
});

test("without a Python it is said what to install", async () => {
	const empty = await scratch.folder("nothing");
	const none = making("none", { configured: "", env: { PATH: empty } });

	await assert.rejects(environmentPython(none), {
		remedy: "python",
		message: /Python 3\.11 or newer, and none was found/,
	});
});

test("keys of providers reach neither pip nor a Python that is looked for", async () => {
	const seen = join(scratch.path, "seen.txt");
	const folder = await scratch.folder("spying");
	const spying = join(folder, "python3");
	await writeFile(spying, `#!/bin/sh\nenv >> "${seen}"\nexec "${copying}" "$@"\n`, { mode: 0o755 });
	const keys = { ANTHROPIC_API_KEY: "sk-own", GITHUB_TOKEN: "ghp-own", PIP_NO_INPUT: "1" };

	await environmentPython(making("spied", { configured: spying, env: { ...process.env, ...linked, ...keys } }));

	const environment = await readFile(seen, "utf8");
	assert.match(environment, /^PIP_NO_INPUT=1$/m);
	assert.doesNotMatch(environment, /sk-own|ghp-own/);
});

test("an environment whose probe takes too long is used, and not made again", async () => {
	const python = await environmentPython(making("slow"));
	await rm(python);
	await writeFile(python, "#!/bin/sh\nexec sleep 60\n", { mode: 0o755 });

	assert.equal(await environmentPython(making("slow")), python);
	assert.ok(existsSync(join(python, "../../ready.json")));
});

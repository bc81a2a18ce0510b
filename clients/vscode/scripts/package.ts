/**
 * Makes `pygent-ls-VERSION.vsix`: both bundles, the Python package's wheel with the versions that it was tested with, the
 * README, and what bundled packages ask to be said.
 *
 * Everything is put together in a folder of its own, from which the archive is made: what is not named here is not in
 * it, and two that package at once do not meet. The same sources make the same bytes. Nothing asks the network.
 *
 * `--out FILE` puts the archive elsewhere; the variable PYTHON names another Python that has hatchling.
 */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { build } from "esbuild";
import { bundles } from "./bundles.ts";
import { bundledPackage, noticeText, packageFolders } from "./notice.ts";
import { shippedReadme } from "./shipped_readme.ts";

const CLIENT = join(import.meta.dirname, "..");
const REPOSITORY = join(CLIENT, "../..");

/** The time of every file in the archives, in seconds: wheels built by hatchling have the same. */
const EPOCH_S = "1580601600";

interface Manifest {
	readonly name: string;
	readonly version: string;
	readonly [field: string]: unknown;
}

/** What went wrong and what would work; told without a trace. */
class PackagingError extends Error {}

function run(program: string, args: readonly string[], cwd: string): string {
	const env = { ...process.env, SOURCE_DATE_EPOCH: EPOCH_S };
	const done = spawnSync(program, args, { cwd, env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
	if (done.error !== undefined || done.status !== 0) {
		const reason = done.error?.message ?? `${done.stdout}${done.stderr}`.trim();
		throw new PackagingError(`${[program, ...args].join(" ")} failed:\n${reason}`);
	}
	return `${done.stdout}${done.stderr}`;
}

/** A Python with hatchling, which is what builds the wheel without asking the network for it. */
function findPython(): string {
	const own = process.platform === "win32" ? ".venv/Scripts/python.exe" : ".venv/bin/python";
	const python = process.env["PYTHON"] ?? join(REPOSITORY, own);
	if (spawnSync(python, ["-c", "import hatchling"], { stdio: "ignore" }).status !== 0) {
		throw new PackagingError(
			`the wheel of the Python package cannot be built: ${python} is missing or has no hatchling. ` +
				"`make check` in the repository makes .venv with it, or set PYTHON to a Python that has it.",
		);
	}
	return python;
}

function buildWheel(into: string, version: string): void {
	run(findPython(), ["-m", "hatchling", "build", "-t", "wheel", "-d", into], REPOSITORY);
	const expected = `pygent_ls-${version}-py3-none-any.whl`;
	const built = readdirSync(into);
	if (built.length !== 1 || built[0] !== expected) {
		throw new PackagingError(
			`the wheel is ${built.join(", ")} and not ${expected}: package.json and pygent_ls/__init__.py differ in their version`,
		);
	}
}

/** Bundles into `outdir`, and gives the text of NOTICE. */
async function buildBundles(outdir: string): Promise<string> {
	const both = Object.values(bundles({ production: true, outdir }));
	const builds = both.map((options) => build({ ...options, metafile: true, logLevel: "error" }));
	const results = await Promise.all(builds).catch(() => {
		throw new PackagingError("the sources cannot be bundled: see above"); // esbuild has said why
	});
	const folders = packageFolders(results.map(({ metafile }) => metafile));
	return noticeText(folders.map((folder) => bundledPackage(CLIENT, folder)));
}

/** The manifest without what only a checkout needs: everything that runs is bundled. */
function shippedManifest(manifest: Manifest): Manifest {
	const ofTheCheckout = new Set(["scripts", "dependencies", "devDependencies"]);
	const kept = Object.entries(manifest).filter(([field]) => !ofTheCheckout.has(field));
	return { ...Object.fromEntries(kept), name: manifest.name, version: manifest.version };
}

async function stage(folder: string, manifest: Manifest): Promise<void> {
	buildWheel(join(folder, "wheel"), manifest.version);
	cpSync(join(REPOSITORY, ".ci/pins.txt"), join(folder, "wheel/pins.txt"));
	writeFileSync(join(folder, "NOTICE"), await buildBundles(join(folder, "dist")));
	writeFileSync(join(folder, "package.json"), `${JSON.stringify(shippedManifest(manifest), null, 2)}\n`);
	// vsce warns without a list of excluded files: here it is empty.
	writeFileSync(join(folder, ".vscodeignore"), "");
	cpSync(join(REPOSITORY, "LICENSE"), join(folder, "LICENSE"));
	cpSync(join(CLIENT, "media"), join(folder, "media"), { recursive: true });
	stageReadme(folder);
}

function stageReadme(folder: string): void {
	const { text, images } = shippedReadme(readFileSync(join(CLIENT, "README.md"), "utf8"));
	writeFileSync(join(folder, "README.md"), text);
	for (const [name, source] of images) {
		const path = join(CLIENT, source);
		if (!existsSync(path)) throw new PackagingError(`README.md shows ${source}, which is not there`);
		cpSync(path, join(folder, "images", name));
	}
}

function makeArchive(folder: string, out: string): void {
	const vsce = join(CLIENT, "node_modules/@vscode/vsce/vsce");
	const flags = ["--no-dependencies", "--allow-missing-repository", "--no-rewrite-relative-links"];
	const said = run(process.execPath, [vsce, "package", ...flags, "--out", out], folder);
	if (/\bWARNING\b/.test(said)) {
		rmSync(out, { force: true });
		throw new PackagingError(`no archive is made as long as there is something to warn of:\n${said.trim()}`);
	}
}

function kilobytes(path: string): string {
	return `${Math.round(statSync(path).size / 1000)} kB`;
}

async function main(): Promise<void> {
	const manifest = JSON.parse(readFileSync(join(CLIENT, "package.json"), "utf8")) as Manifest;
	const { values } = parseArgs({ options: { out: { type: "string" } } });
	const out = resolve(values.out ?? join(CLIENT, `${manifest.name}-${manifest.version}.vsix`));
	const folder = mkdtempSync(join(tmpdir(), "pygent-vsix-"));
	try {
		await stage(folder, manifest);
		makeArchive(folder, out);
		for (const name of readdirSync(join(folder, "dist"))) {
			console.log(`dist/${name} ${kilobytes(join(folder, "dist", name))}`);
		}
		console.log(`${out} ${kilobytes(out)}`);
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}

try {
	await main();
} catch (error) {
	if (!(error instanceof PackagingError)) {
		throw error;
	}
	console.error(error.message);
	process.exitCode = 1;
}

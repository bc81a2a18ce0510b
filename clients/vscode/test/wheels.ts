/** What the daemon's own environment is installed from, in tests. */
import { spawnSync } from "node:child_process";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PYTHON, REPOSITORY, type Scratch } from "./paths.ts";

/** The wheel that is shipped. */
export async function buildWheel(scratch: Scratch): Promise<string> {
	const folder = await scratch.folder("wheel");
	python(["-m", "hatchling", "build", "-t", "wheel", "-d", folder], REPOSITORY);
	const [name] = await readdir(folder);
	return join(folder, name ?? "");
}

/**
 * Variables that make pip use the dependencies in this repository's environment instead of downloading them: a wheel of one line, which names their folder, is installed beside ours.
 */
export async function withPackagesOfTheRepository(scratch: Scratch): Promise<Readonly<Record<string, string>>> {
	const folder = await scratch.folder("link");
	const wheel = join(folder, "linked_packages-1.0-py3-none-any.whl");
	python(["-c", LINK, wheel], REPOSITORY);
	const requirements = join(folder, "requirements.txt");
	await writeFile(requirements, `${wheel}\n`);
	return { PIP_NO_DEPS: "1", PIP_NO_INDEX: "1", PIP_REQUIREMENT: requirements, PIP_NO_CACHE_DIR: "1" };
}

const LINK = `
import pathlib, sys, sysconfig, zipfile
info = "linked_packages-1.0.dist-info"
with zipfile.ZipFile(sys.argv[1], "w") as wheel:
    wheel.writestr("linked_packages.pth", sysconfig.get_paths()["purelib"] + "\\n")
    wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\\nName: linked-packages\\nVersion: 1.0\\n")
    wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr(f"{info}/RECORD", "".join(f"{name},,\\n" for name in ["linked_packages.pth", f"{info}/METADATA", f"{info}/WHEEL", f"{info}/RECORD"]))
`;

function python(args: readonly string[], cwd: string): void {
	const done = spawnSync(PYTHON, [...args], { cwd, encoding: "utf8", timeout: 60_000 });
	if (done.status !== 0) throw new Error(`${args.join(" ")} failed:\n${done.stdout}${done.stderr}`);
}

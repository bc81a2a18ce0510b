/** Which Python makes the daemon's environment, and with which commands. Pure. */

/** The oldest that the daemon runs with: `requires-python` of its package. */
export const OLDEST: readonly [number, number] = [3, 11];

/** How a Python is called: a program, and what stands before its own arguments. */
export interface Candidate {
	readonly command: string;
	readonly args: readonly string[];
}

/** A Python that answered. */
export interface Python {
	readonly executable: string;
	readonly version: string;
	readonly isNewEnough: boolean;
	/** It has what makes environments; Debian ships that apart. */
	readonly makesEnvironments: boolean;
}

/** Prints what `pythonOf` reads. It runs on any Python 3: an old one says its version, too. */
export const PROBE = [
	"import importlib.util, json, sys",
	"has = lambda name: importlib.util.find_spec(name) is not None",
	"version = list(sys.version_info[:3])",
	"print(json.dumps([sys.executable, version, has('venv') and has('ensurepip')]))",
].join("; ");

const MINORS = [14, 13, 12, 11];

/** Where a Python is looked for, the best first. `configured` is the user's word, and then the only one. */
export function candidates(platform: NodeJS.Platform, configured: string): readonly Candidate[] {
	if (configured !== "") return [{ command: configured, args: [] }];
	const plain = ["python3", "python"].map((command) => ({ command, args: [] }));
	if (platform === "win32") {
		return [...MINORS.map((minor) => ({ command: "py", args: [`-3.${minor}`] })), ...plain];
	}
	return [...MINORS.map((minor) => ({ command: `python3.${minor}`, args: [] })), ...plain];
}

/** What a Python said to `PROBE`; null where that was none: shims and the Windows store's stand-in say something else. */
export function pythonOf(stdout: string): Python | null {
	const last = stdout.trim().split(/\r?\n/).at(-1) ?? "";
	let said: unknown;
	try {
		said = JSON.parse(last);
	} catch {
		return null;
	}
	if (!Array.isArray(said)) return null;
	const [executable, version, makesEnvironments]: readonly unknown[] = said;
	if (typeof executable !== "string" || executable === "" || !isVersion(version)) return null;
	const [major, minor] = version;
	const isNewEnough = major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
	return { executable, version: version.join("."), isNewEnough, makesEnvironments: makesEnvironments === true };
}

function isVersion(value: unknown): value is readonly [number, number, number] {
	return Array.isArray(value) && value.length === 3 && value.every((each) => Number.isInteger(each));
}

/** What makes an environment: a Python alone, or uv, which finds or gets one itself where none is named. */
export type Maker =
	| { readonly type: "venv"; readonly python: Python }
	| { readonly type: "uv"; readonly python: Python | null };

/**
 * Which to try, one after another; empty where nothing can make an environment. uv needs a tenth of the time, but knows
 * nothing of pip's configuration, where companies name their own index.
 */
export function makersOf(found: readonly Python[], hasUv: boolean): readonly Maker[] {
	const fit = found.filter((each) => each.isNewEnough);
	const whole = fit.find((each) => each.makesEnvironments);
	return [
		...(hasUv ? [{ type: "uv", python: fit[0] ?? null } as const] : []),
		...(whole === undefined ? [] : [{ type: "venv", python: whole } as const]),
	];
}

/** One command of the making, and what a person reads meanwhile. */
export interface Step extends Candidate {
	readonly say: string;
	/** What is done where a package has no pinned release for this machine. */
	readonly unpinned?: Step;
}

/** What is installed: the wheel, with the versions that it was tested with where `pins` names a file of them. */
export interface Installed {
	readonly wheel: string;
	readonly pins: string | null;
}

/**
 * Isolated (`-I`): what a user's PYTHONPATH holds would count as installed, and be missing where it is not set. Each
 * address is tried once more and no oftener, so that a machine without network says so soon.
 */
const PIP = ["-I", "-m", "pip", "--disable-pip-version-check", "--no-input", "--retries", "1", "--timeout", "20"];

/** What makes an environment in `folder`, whose Python is then `python`, with the wheel in it. */
export function stepsOf(maker: Maker, folder: string, python: string, what: Installed): readonly Step[] {
	const make = "making an environment";
	if (maker.type === "venv") {
		const { executable } = maker.python;
		return [
			{ say: `${make} with Python ${maker.python.version}`, command: executable, args: ["-I", "-m", "venv", folder] },
			installing({ command: python, args: [...PIP, "install"] }, what),
		];
	}
	const named = maker.python?.executable ?? `>=${OLDEST.join(".")}`;
	return [
		{ say: `${make} with uv`, command: "uv", args: ["venv", "--no-project", "--python", named, folder] },
		installing({ command: "uv", args: ["pip", "install", "--python", python] }, what),
	];
}

/**
 * Pinned, since an installer that may choose tries old releases of what needs much, and a release of today may not fit.
 * Of a pinned release only a wheel is taken: to build one needs compilers.
 */
function installing({ command, args }: Candidate, { wheel, pins }: Installed): Step {
	const unpinned = { say: "installing packages", command, args: [...args, wheel] };
	if (pins === null) return unpinned;
	return { ...unpinned, args: [...args, "--only-binary", ":all:", "--constraint", pins, wheel], unpinned };
}

/** The Python of an environment. */
export function pythonIn(folder: string, platform: NodeJS.Platform): string {
	return platform === "win32" ? `${folder}\\Scripts\\python.exe` : `${folder}/bin/python`;
}

/** What a line of pip or uv says to a person; null for one that says nothing new. */
export function stepIn(line: string): string | null {
	const collecting = /^Collecting ([\w.-]+)/.exec(line);
	if (collecting?.[1] !== undefined) return `looking up ${collecting[1]}`;
	const downloading = /^\s*Downloading (?:\S*\/)?([A-Za-z0-9.]+(?:_[A-Za-z0-9.]+)*)-\d\S* \(([^)]+)\)/.exec(line);
	if (downloading !== null) return `downloading ${downloading[1]?.replaceAll("_", "-")} (${downloading[2]})`;
	if (/^\s*Building wheel/.test(line)) return "building packages that have no wheel for this machine";
	if (/^Installing collected packages/.test(line)) return "putting the packages in place";
	return null;
}

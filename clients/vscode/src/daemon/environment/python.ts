/** Python for the daemon's environment, and the commands that create it. Pure. */

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
	/** Whether it has the module that creates environments, which Debian ships separately. */
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

/** Returns the Pythons to try, best first. `configured` is the user's choice, and then the only one. */
export function candidates(platform: NodeJS.Platform, configured: string): readonly Candidate[] {
	if (configured !== "") return [{ command: configured, args: [] }];
	const plain = ["python3", "python"].map((command) => ({ command, args: [] }));
	if (platform === "win32") {
		return [...MINORS.map((minor) => ({ command: "py", args: [`-3.${minor}`] })), ...plain];
	}
	return [...MINORS.map((minor) => ({ command: `python3.${minor}`, args: [] })), ...plain];
}

/**
 * Parses the output of `PROBE`; null if the program is not a Python: shims and the Windows Store's stand-in print
 * something else.
 */
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

/** A program that can create an environment: a Python, or uv, which finds or downloads a Python if none is named. */
export type Maker =
	| { readonly type: "venv"; readonly python: Python }
	| { readonly type: "uv"; readonly python: Python | null };

/**
 * Returns the programs to try, in order; empty if none can create an environment. uv takes a tenth of the time, but
 * ignores pip's configuration, in which companies name their own index.
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
}

/**
 * Isolated (`-I`): otherwise packages on the user's PYTHONPATH would count as installed, and be missing when it is not
 * set. Each address is tried only twice, so that a machine without network reports that soon.
 */
const PIP = ["-I", "-m", "pip", "--disable-pip-version-check", "--no-input", "--retries", "1", "--timeout", "20"];

/** What makes an environment in `folder`. */
export function creationStep(maker: Maker, folder: string): Step {
	const say = "making an environment with";
	if (maker.type === "venv") {
		const { executable, version } = maker.python;
		return { say: `${say} Python ${version}`, command: executable, args: ["-I", "-m", "venv", folder] };
	}
	const named = maker.python?.executable ?? `>=${OLDEST.join(".")}`;
	return { say: `${say} uv`, command: "uv", args: ["venv", "--no-project", "--python", named, folder] };
}

/**
 * What installs a wheel into the environment of `python`, with all that it needs. `pins` is a file with versions that it was
 * tested with: an installer that may choose tries one old release after another, and a release of today may not fit. Of a
 * pinned release only a wheel is taken, since to build one needs compilers.
 */
export function installationStep(maker: Maker, python: string, wheel: string, pins: string | null): Step {
	const [command, ...args] = maker.type === "venv" ? [python, ...PIP, "install"] : UV(python);
	const pinned = pins === null ? [] : ["--only-binary", ":all:", "--constraint", pins];
	return { say: "installing packages", command, args: [...args, ...pinned, wheel] };
}

const UV = (python: string) => ["uv", "pip", "install", "--python", python] as const;

/** The pins, line by line, without those that this output of a failed installation complains of. */
export function withoutMissing(pins: readonly string[], output: string): readonly string[] {
	const lines = output.split(/\r?\n/).filter((line) => !/^\s*(?:Collecting|Downloading|Processing|Using)\b/.test(line));
	const named = new Set(lines.flatMap((line) => line.split(/[\s();]+/)).map((word) => nameIn(word)));
	return pins.filter((pin) => !named.has(nameIn(pin.split(";")[0]?.trim() ?? "")));
}

/** `soup==4.1` of `Soup!=4.0,==4.1`; empty for a word that pins nothing. */
function nameIn(word: string): string {
	const [, name = "", version = ""] = /^([\w.-]+)\S*==([\w.+!-]+)/.exec(word) ?? [];
	return name === "" ? "" : `${name.toLowerCase()}==${version}`;
}

/** The host that packages come from, as far as the environment says: pip and uv may be configured in files, too. */
export function sourceOf(env: NodeJS.ProcessEnv): string {
	const named = ["UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"].map((name) => env[name]);
	const url = named.find((each) => each !== undefined && URL.canParse(each));
	return url === undefined ? "pypi.org" : new URL(url).host;
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

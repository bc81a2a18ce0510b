/** Allowed targets of links in the conversation: the web, and files of the workspace. */

export interface Target {
	readonly kind: "web" | "path";
	/** What is asked for when it is followed, and what its title shows. */
	readonly href: string;
	/** Host of a web address in its ASCII form; empty for a path. */
	readonly host: string;
}

/** A file, with `:line` or `:line:column` behind it. */
const PLACE = /^[^:?#]*[./][^:?#]*:\d+(?:[:-]\d+)?$/;

const SCHEME = /^[a-z][a-z0-9+.-]*:/i;

/** Nothing that is not seen, and nothing that changes what is seen. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/;

/** Endings of files that a model names without their folder. */
const FILE_ENDINGS =
	"bat|cfg|cpp|cs|css|csv|dart|ex|go|h|hpp|html|ini|ipynb|java|js|json|jsx|kt|lock|lua|mdx?|mjs|php|proto|ps1|pyi?|rb|rs|rst|scss|sh|sql|svelte|swift|toml|tsx?|txt|vue|xml|ya?ml";

const NAMED_FILE = new RegExp(String.raw`^[\w@-][\w@.+-]*\.(?:${FILE_ENDINGS})(?::\d+(?:[:-]\d+)?)?$`);
const PATH = /^(?:\.{1,2}\/|\/)?(?:[\w@.+-]+\/)+[\w@.+-]+\.\w{1,10}(?::\d+(?:[:-]\d+)?)?$/;

/** Returns the target of an address; null if the address is not allowed. */
export function targetOf(address: string): Target | null {
	const href = address.trim();
	if (href === "" || UNSEEN.test(href)) return null;
	if (/^https?:\/\//i.test(href)) return webTarget(href);
	const path = decoded(href);
	if (UNSEEN.test(path) || /^(?:#|\/\/)|[\\<>"|]/.test(path)) return null;
	if (SCHEME.test(path) && !PLACE.test(path)) return null;
	return { kind: "path", href: path, host: "" };
}

/** Returns the path that inline code names, such as `src/cart.py:10`; null for other code. */
export function pathIn(code: string): string | null {
	return code.length <= 300 && (PATH.test(code) || NAMED_FILE.test(code)) ? code : null;
}

/** Whether what a link says is an address, and of another host than the one that it leads to. */
export function isMisleading(words: string, target: Target): boolean {
	if (target.kind !== "web") return false;
	if (target.host.split(".").some((label) => label.startsWith("xn--"))) return true;
	const named = /^(?:https?:\/\/)?((?:[\p{L}\p{N}-]+\.)+[\p{L}]{2,})(?:[:/?#].*)?$/iu.exec(words.trim())?.[1];
	if (named === undefined || pathIn(words.trim()) !== null) return false;
	return withoutWww(named.toLowerCase()) !== withoutWww(target.host);
}

function webTarget(href: string): Target | null {
	const url = URL.parse(href);
	if (url === null || url.username !== "" || url.password !== "") return null;
	return { kind: "web", href: url.href, host: url.hostname };
}

function decoded(href: string): string {
	try {
		return decodeURIComponent(href);
	} catch {
		return href; // a per cent sign of its own
	}
}

function withoutWww(host: string): string {
	return host.replace(/^www\./, "");
}

/** Colours for code, by the languages that are common in answers. */

import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import dockerfile from "highlight.js/lib/languages/dockerfile";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import kotlin from "highlight.js/lib/languages/kotlin";
import lua from "highlight.js/lib/languages/lua";
import makefile from "highlight.js/lib/languages/makefile";
import markdown from "highlight.js/lib/languages/markdown";
import php from "highlight.js/lib/languages/php";
import powershell from "highlight.js/lib/languages/powershell";
import python from "highlight.js/lib/languages/python";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import scss from "highlight.js/lib/languages/scss";
import shell from "highlight.js/lib/languages/shell";
import sql from "highlight.js/lib/languages/sql";
import swift from "highlight.js/lib/languages/swift";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { MAX_COLOURED } from "./limits.ts";

const LANGUAGES = {
	...{ bash, c, cpp, csharp, css, diff, dockerfile, go, ini, java, javascript, json, kotlin, lua, makefile, markdown },
	...{ php, powershell, python, ruby, rust, scss, shell, sql, swift, typescript, xml, yaml },
};

/** So many results are kept: a block that comes back into sight is coloured at once. */
const MAX_KEPT = 200;

const kept = new Map<string, string>();
let isReady = false;

/** HTML of code with classes for its colours; null for a language that is not known, and for code that is too long. */
export function coloured(code: string, language: string): string | null {
	register();
	if (code.length > MAX_COLOURED || hljs.getLanguage(language) === undefined) return null;
	const key = `${language}\n${code}`;
	const html = kept.get(key) ?? hljs.highlight(code, { language, ignoreIllegals: true }).value;
	kept.delete(key);
	kept.set(key, html);
	for (const oldest of kept.keys()) {
		if (kept.size <= MAX_KEPT) break;
		kept.delete(oldest);
	}
	return html;
}

/** Whether it was coloured before, and costs nothing now. */
export function isKept(code: string, language: string): boolean {
	return kept.has(`${language}\n${code}`);
}

/** When the first code is shown, and not when the page is loaded. */
function register(): void {
	if (isReady) return;
	isReady = true;
	for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language);
}

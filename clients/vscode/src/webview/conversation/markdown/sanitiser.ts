/**
 * HTML that is safe to show. It is made from words of a model, and a model says what it has read: nothing in it may run,
 * load, look like the panel's own, or lead anywhere by itself.
 */

import createDOMPurify, { type Config } from "dompurify";
import { visible } from "./invisible_characters.ts";
import { isMisleading, pathIn, targetOf } from "./link_targets.ts";

/** Attribute with the target of a checked link. The link has no `href`, so that only the panel can follow it. */
export const LINK = "data-link";

const PROSE: Config = {
	ALLOWED_TAGS: [
		...["p", "br", "hr", "h3", "h4", "h5", "h6", "blockquote", "ul", "ol", "li", "pre", "code", "kbd", "samp"],
		...["strong", "b", "em", "i", "del", "s", "sub", "sup", "a", "table", "thead", "tbody", "tr", "th", "td"],
	],
	ALLOWED_ATTR: ["align", "title", "role", "tabindex", LINK],
	ADD_URI_SAFE_ATTR: [LINK],
	ALLOW_DATA_ATTR: false,
	ALLOW_ARIA_ATTR: false,
	RETURN_DOM_FRAGMENT: true,
};

const COLOURED: Config = {
	ALLOWED_TAGS: ["span"],
	ALLOWED_ATTR: ["class"],
	ALLOW_DATA_ATTR: false,
	ALLOW_ARIA_ATTR: false,
	RETURN_DOM_FRAGMENT: true,
};

/** What the markdown of an answer may become. */
export function proseOf(html: string): DocumentFragment {
	const fragment = proseSanitiser().sanitize(visible(html), PROSE) as unknown as DocumentFragment;
	linkPaths(fragment);
	return fragment;
}

/** What the highlighter made of code: words, and the classes that it colours them by. */
export function colouredOf(html: string): DocumentFragment {
	return colourSanitiser().sanitize(visible(html), COLOURED) as unknown as DocumentFragment;
}

/** A link that the panel follows when it is clicked, or Enter is pressed on it. */
export function linkAttributes(href: string): Readonly<Record<string, string>> {
	return { role: "link", tabindex: "0", title: href, [LINK]: href };
}

const proseSanitiser = once(() => {
	const sanitiser = createDOMPurify(window);
	sanitiser.addHook("beforeSanitizeAttributes", (node) => {
		if (node.nodeName === "A") checkLink(node);
		else keepOnly(node, "align");
	});
	return sanitiser;
});

const colourSanitiser = once(() => {
	const sanitiser = createDOMPurify(window);
	sanitiser.addHook("uponSanitizeAttribute", (_node, attribute) => {
		attribute.keepAttr = /^(?:(?:hljs-[\w-]+|[a-z]+_)(?: |$))+$/.test(attribute.attrValue);
	});
	return sanitiser;
});

function checkLink(link: Element): void {
	const target = targetOf(link.getAttribute("href") ?? "");
	keepOnly(link);
	if (target === null) return;
	setAll(link, linkAttributes(target.href));
	if (isMisleading(link.textContent ?? "", target)) link.append(` (${target.host})`);
}

function linkPaths(fragment: DocumentFragment): void {
	for (const code of fragment.querySelectorAll("code")) {
		const path = code.closest("a, pre") === null ? pathIn(code.textContent ?? "") : null;
		if (path === null) continue;
		const link = document.createElement("a");
		setAll(link, linkAttributes(path));
		code.replaceWith(link);
		link.append(code);
	}
}

function keepOnly(element: Element, ...names: readonly string[]): void {
	for (const name of element.getAttributeNames?.() ?? []) {
		if (!names.includes(name)) element.removeAttribute(name);
	}
}

function setAll(element: Element, attributes: Readonly<Record<string, string>>): void {
	for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
}

/** Made when first asked for, since importing a module does nothing. */
function once<Value>(make: () => Value): () => Value {
	let made: { readonly value: Value } | null = null;
	return () => {
		made ??= { value: make() };
		return made.value;
	};
}

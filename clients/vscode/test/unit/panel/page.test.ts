import assert from "node:assert/strict";
import { test } from "node:test";
import { pageText } from "../../../src/panel/page.ts";

function page(): { readonly text: string; readonly policy: ReadonlyMap<string, string> } {
	const text = pageText("https://own.test", (file) => `https://own.test/dist/${file}`);
	const [, content = ""] = /http-equiv="Content-Security-Policy" content="([^"]+)"/.exec(text) ?? [];
	const rules = content
		.split("; ")
		.map((rule) => [rule.split(" ")[0] ?? "", rule.split(" ").slice(1).join(" ")] as const);
	return { text, policy: new Map(rules) };
}

test("the page's policy lets in the bundle and nothing else, and no script without the page's own nonce", () => {
	const { text, policy } = page();
	const [, nonce = ""] = /<script nonce="([^"]+)"/.exec(text) ?? [];

	assert.equal(policy.get("default-src"), "'none'");
	assert.equal(policy.get("script-src"), `'nonce-${nonce}'`);
	assert.equal(policy.get("style-src"), "https://own.test");
	assert.equal(policy.get("font-src"), "https://own.test");
	assert.equal(policy.get("img-src"), "data: blob:");
	assert.equal(policy.size, 5);
	assert.equal(text.match(/<script/g)?.length, 1);
	assert.ok(nonce.length >= 22);
	assert.ok(!page().text.includes(nonce), "each page has a nonce of its own");
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { mentionsIn, writtenMention } from "../../../src/conversation/mentions.ts";

test("terminals and symbols are mentioned as files are, each once", () => {
	const text =
		'Why does @terminal fail? See @terminal:make, (@symbol:Cart.total) and @"symbol:my shop/cart.py#f(x)". @terminal';

	assert.deepEqual(mentionsIn(text), [
		{ type: "terminal", name: null },
		{ type: "terminal", name: "make" },
		{ type: "symbol", path: null, name: "Cart.total" },
		{ type: "symbol", path: "my shop/cart.py", name: "f(x)" },
	]);
});

test("what only looks like a mention is none", () => {
	const text =
		"me@terminal @terminals @symbol @symbol: `@terminal` is quoted\n```ts\n@terminal\n@symbol:x\n```\n~~~\n@terminal";

	assert.deepEqual(mentionsIn(text), []);
	assert.deepEqual(mentionsIn("@src/terminal @symbols:x\n```\n@terminal\n```\n"), []);
});

test("a mention that is written is read as what it was", () => {
	for (const name of ["total", "operator()", "a b", "map<K, V>"]) {
		assert.deepEqual(mentionsIn(`Look at ${writtenMention(`symbol:src/a.cpp#${name}`)}, please`), [
			{ type: "symbol", path: "src/a.cpp", name },
		]);
	}
});

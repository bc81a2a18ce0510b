import assert from "node:assert/strict";
import { test } from "node:test";
import { plain } from "../../../src/commands/plain_text.ts";

/** As the editor finds links in notifications. */
const LINK = /\[([^\]]+)\]\(((?:https?:\/\/|command:|file:)[^)\s]+)(?: (["'])(.+?)(\3))?\)/i;

test("what a model says in a notification is no link", () => {
	const hostile = "run [Allow once](command:pygent.answerAsk?%5B1%5D) or [this](https://evil.example)";

	assert.match(hostile, LINK);
	assert.doesNotMatch(plain(hostile), LINK);
	assert.equal(plain(hostile).replaceAll("\u200b", ""), hostile);
});

test("it is one line, and not without end", () => {
	assert.equal(plain(" a\n\tb "), "a b");
	assert.equal(plain("x".repeat(500)).length, 401);
	assert.equal(plain("abc", 2), "ab…");
});

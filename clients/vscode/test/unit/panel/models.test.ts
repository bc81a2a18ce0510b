import assert from "node:assert/strict";
import { test } from "node:test";
import { keyVariableOf, lackedKeyOf } from "../../../src/panel/models.ts";

const LISTED = {
	models: [
		{ name: "openai/gpt-5", available: true, keyVariable: "OPENAI_API_KEY" },
		{ name: "groq/llama", available: false, keyVariable: "GROQ_API_KEY", lacksKey: true },
		{ name: "bedrock/claude", available: false, reason: "a package is missing" },
		{ name: "offline/rules", available: true },
	],
} as const;

test("the key of a model is that of its provider, also where the model itself is not listed", () => {
	assert.equal(keyVariableOf(LISTED, "openai/gpt-5"), "OPENAI_API_KEY");
	assert.equal(keyVariableOf(LISTED, "groq/another"), "GROQ_API_KEY");
	assert.equal(keyVariableOf(LISTED, "offline/rules"), undefined);
	assert.equal(keyVariableOf(LISTED, "gpt-5"), undefined);
});

test("a key is asked for only where it is what is missing", () => {
	assert.equal(lackedKeyOf(LISTED, "groq/another"), "GROQ_API_KEY");
	assert.equal(lackedKeyOf(LISTED, "openai/gpt-5"), undefined);
	assert.equal(lackedKeyOf(LISTED, "bedrock/claude"), undefined);
	assert.equal(lackedKeyOf(LISTED, "unknown/model"), undefined);
});

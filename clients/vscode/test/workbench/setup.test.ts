import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { Workbench } from "./workbench.ts";

const KEY = "my0wnkey-of-mistral";

/** Where nobody listens: what runs on this machine is not looked for. */
const NOWHERE = Object.fromEntries(
	["OLLAMA", "LM_STUDIO", "LLAMAFILE", "HOSTED_VLLM"].map((name) => [`${name}_API_BASE`, `http://127.0.0.1:9/${name}`]),
);

test("a model is set up by quick picks, and its key is typed into a line that shows nothing", async () => {
	await using workbench = await Workbench.open({ "cart.py": "total = 0\n" });
	const { model, page } = workbench;
	const base = model.env["OPENAI_BASE_URL"] ?? "";
	const env = { ...NOWHERE, MISTRAL_API_BASE: base, PYTHON_KEYRING_BACKEND: "keyring.backends.fail.Keyring" };
	await workbench.set({ "pygent.server.env": env });
	await workbench.load();
	await workbench.openChat();
	await model.script({ text: "ready" });
	const rows = page.locator(".quick-input-list .monaco-list-row");
	const choose = async (title: string): Promise<void> => {
		await rows.filter({ hasText: title }).first().click();
	};

	await workbench.command("pygent: Set Up a Model");
	await choose("Enter the key of a provider");
	await choose("mistral");
	const line = page.locator(".quick-input-widget input[type=password]");
	await line.waitFor();
	await line.fill(KEY);
	await line.press("Enter");
	await choose("mistral/mistral-medium-latest");

	const told = page.locator(".notification-toast").filter({ hasText: "The key of mistral is in" });
	await told.waitFor();
	const shown = (await told.textContent()) ?? "";
	assert.match(shown, /mistral\/mistral-medium-latest answered in/);
	assert.ok(!shown.includes(KEY));
	const file = /is in (\S+keys\.json)/.exec(shown.replaceAll("\u200b", ""))?.[1] ?? "";
	assert.ok((await readFile(file, "utf8")).includes(KEY));
	const [asked] = await model.requests();
	assert.match(JSON.stringify(asked), /mistral-medium-latest/);
});

import assert from "node:assert/strict";
import { globSync, readFileSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Workbench } from "../workbench.ts";

const KEY = "my0wnkey-of-mistral";

/** Addresses without a server: servers on this machine are not searched for. */
const NOWHERE = Object.fromEntries(
	["OLLAMA", "LM_STUDIO", "LLAMAFILE", "HOSTED_VLLM"].map((name) => [`${name}_API_BASE`, `http://127.0.0.1:9/${name}`]),
);

/** Returns the file, or empty text if it does not exist; a process may end meanwhile. */
function textOf(file: string): string {
	try {
		return readFileSync(file, "utf8");
	} catch {
		return "";
	}
}

/** What the extension and the editor have written, and what runs, in which the text is found. */
async function placesOf(text: string, workbench: Workbench): Promise<readonly string[]> {
	const files = globSync(join(workbench.folder, "../server/**/*.{json,jsonl,log}")).filter((file) =>
		statSync(file).isFile(),
	);
	const daemons = globSync(join(workbench.folder, "../run/pygent-*/*.pid")).map((file) => readFileSync(file, "utf8"));
	const all = [...files, ...daemons.map((pid) => `/proc/${pid}/environ`)];
	return all.filter((file) => textOf(file).includes(text));
}

test("a first prompt waits for a key, which counts at once; one that is refused is given anew, and the prompt goes out again", async () => {
	await using workbench = await Workbench.open({ "cart.py": "total = 0\n" });
	const { model, page, chat, conversation } = workbench;
	const none = { PYGENT_MODEL: "", OPENAI_API_KEY: "", MISTRAL_API_BASE: model.env["OPENAI_BASE_URL"] ?? "" };
	await workbench.set({ "pygent.trace": true, "pygent.server.env": { ...NOWHERE, ...none } });
	await workbench.load();
	const card = chat.getByRole("region", { name: "Set up a model" });
	const key = page.locator(".quick-input-widget input[type=password]");
	const give = async (text: string): Promise<void> => {
		await key.waitFor();
		await key.fill(text);
		await key.press("Enter");
	};
	await workbench.command("pygent: Open Chat");
	await card.getByText("Choose one of these to start.").waitFor();

	await chat.getByRole("button", { name: /^Model/ }).click();
	await chat.getByRole("option", { name: /groq/ }).first().click();
	await key.waitFor();
	await key.press("Escape");
	await chat.getByText("No model", { exact: true }).waitFor();
	await model.script({ status: 401, error: "Unauthorized" }, { text: "Now it is faster." });
	await workbench.prompt("make it faster");
	await card.getByText("Your prompt is sent once a model is set up.").waitFor();
	await card.getByRole("button", { name: "Other…" }).click();
	await page.locator(".quick-input-list .monaco-list-row").filter({ hasText: "Mistral" }).click();
	await give("wrong-key-of-mistral");
	await workbench.notification("Mistral key saved.").waitFor();
	await chat.getByRole("button", { name: "Set API key…" }).click();
	await give(KEY);

	await conversation.getByText("Now it is faster.").waitFor();
	assert.deepEqual(await placesOf(KEY, workbench), []);
	assert.ok((await placesOf("pygent/keys/set", workbench)).some((file) => file.endsWith(".jsonl")));
	assert.equal(await page.getByRole("button", { name: "Restart pygent" }).count(), 0);
});

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
	await choose("Enter an API key");
	await choose("mistral");
	const line = page.locator(".quick-input-widget input[type=password]");
	await line.waitFor();
	await line.fill(KEY);
	await line.press("Enter");
	await choose("mistral/mistral-medium-latest");

	const told = page.locator(".notification-toast").filter({ hasText: "The key for mistral is saved in" });
	await told.waitFor();
	const shown = (await told.textContent()) ?? "";
	assert.match(shown, /mistral\/mistral-medium-latest answered in/);
	assert.ok(!shown.includes(KEY));
	const file = /saved in (\S+keys\.json)/.exec(shown.replaceAll("\u200b", ""))?.[1] ?? "";
	assert.ok((await readFile(file, "utf8")).includes(KEY));
	const [asked] = await model.requests();
	assert.match(JSON.stringify(asked), /mistral-medium-latest/);
});

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { REPOSITORY } from "../../../paths.ts";
import { Workbench } from "../../workbench.ts";

const QWEN = join(REPOSITORY, "build/peers/node_modules/@qwen-code/qwen-code/cli-entry.js");

/** Settings with which no other machine is asked for anything. */
const OF_QWEN = {
	general: { disableAutoUpdate: true, enableAutoUpdate: false },
	privacy: { usageStatisticsEnabled: false },
	telemetry: { enabled: false },
	security: { auth: { selectedType: "openai" } },
};

test("an agent that others wrote asks, edits what is unsaved, and its edit is reviewed and undone", async () => {
	await using workbench = await Workbench.share({ "cart.py": "one = 1\ntwo = 2\n" });
	const { chat, conversation, model, page, folder } = workbench;
	const home = join(folder, "../home");
	const command = JSON.stringify([process.execPath, QWEN, "--acp", "--auth-type", "openai"]);
	await mkdir(join(home, ".config/pygent-ls"), { recursive: true });
	await mkdir(join(home, ".qwen"), { recursive: true });
	await writeFile(join(home, ".qwen/settings.json"), JSON.stringify(OF_QWEN));
	await writeFile(
		join(home, ".config/pygent-ls/config.toml"),
		`[acp_agents.qwen]\ncommand = ${command}\nenv = { OPENAI_MODEL = "mock" }\n`,
	);
	try {
		const path = join(folder, "cart.py");
		const read = { name: "read_file", arguments: { file_path: path } };
		const edit = { name: "edit", arguments: { file_path: path, old_string: "two = 2", new_string: "two = 3" } };
		await workbench.openFile("cart.py");
		await workbench.lines.first().click();
		await page.keyboard.press("Control+Home");
		await page.keyboard.type("typed = 0\n");
		await workbench.openChat();
		await workbench.prompt("/model acp:qwen");
		await conversation.getByText("acp:qwen").first().waitFor();

		await model.script({ calls: [read] }, { calls: [edit] }, { text: "It is three." });
		await workbench.prompt("Make it three");
		await chat.getByRole("button", { name: /Allow once/ }).click();
		await conversation.getByText("It is three.").waitFor();
		await workbench.turnEnds();
		await workbench.lines.filter({ hasText: "two = 3" }).waitFor();
		await workbench.lines.filter({ hasText: "typed = 0" }).waitFor();
		assert.equal(readFileSync(path, "utf8"), "one = 1\ntwo = 2\n");

		await workbench.command("pygent: Reject All Changes");
		await workbench.lines.filter({ hasText: "two = 2" }).waitFor();

		await model.script({ calls: [read] }, { calls: [edit] }, { text: "Once more." });
		await workbench.prompt("Once more");
		await chat.getByRole("button", { name: /Allow once/ }).click();
		await conversation.getByText("Once more.").waitFor();
		await workbench.turnEnds();
		await workbench.lines.filter({ hasText: "two = 3" }).waitFor();
		await workbench.prompt("/undo");
		await workbench.lines.filter({ hasText: "two = 2" }).waitFor();
		await workbench.lines.filter({ hasText: "typed = 0" }).waitFor();
	} finally {
		await rm(join(home, ".config/pygent-ls/config.toml"));
	}
});

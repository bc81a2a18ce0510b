import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Workbench } from "../../workbench.ts";

/** Daemons of all windows that were opened here; some have ended. */
function killDaemons(folder: string): void {
	for (const file of globSync(join(folder, "../run/pygent-*/*.pid"))) {
		const pid = Number(readFileSync(file, "utf8"));
		if (existsSync(`/proc/${pid}`)) process.kill(pid, "SIGKILL");
	}
}

test("a prompt that comes while pygent is restarted waits for it, and is answered", async () => {
	await using workbench = await Workbench.share({ "cart.py": "total = 0\n" });
	const { chat, conversation, model } = workbench;
	await workbench.openChat();
	await model.script({ text: "The first answer." }, { text: "The second answer." });
	await workbench.prompt("first");
	await conversation.getByText("The first answer.").waitFor();

	const field = chat.getByRole("textbox", { name: "Prompt" });
	await field.fill("second");
	await workbench.command("pygent: Restart");
	await field.press("Enter");

	await conversation.getByText("The second answer.").waitFor();
	assert.equal(await chat.getByRole("alert").filter({ hasText: "not ready" }).count(), 0);
});

test("a session that is gone after a crash is said to be, and the next prompt begins another one", async () => {
	await using workbench = await Workbench.share({ "cart.py": "total = 0\n" });
	const { conversation, model, folder } = workbench;
	await workbench.openChat();
	await model.script({ text: "The first answer." }, { text: "The second answer." });
	await workbench.prompt("call it a day");
	await conversation.getByText("The first answer.").waitFor();

	const kept = globSync(join(folder, "../home/.local/{state,share}/pygent-ls/sessions/*"), {
		exclude: (path) => path.includes("index."),
	});
	assert.ok(kept.length > 0);
	for (const each of kept) await rm(each, { recursive: true, force: true });
	killDaemons(folder);

	await workbench.notification("is no longer there").waitFor();
	await conversation.getByText("The first answer.").waitFor({ state: "detached" });
	await workbench.prompt("again");
	await conversation.getByText("The second answer.").waitFor();
});

import { execFile } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { REPOSITORY } from "../../../paths.ts";
import { Workbench } from "../../workbench.ts";

/** Recognises speech in recordings, in place of a microphone. */
function settingsWith(recording: string): string {
	return `[voice]
poll_ms = 50

[mcp_servers.speech]
command = "${join(REPOSITORY, ".venv/bin/python")}"
args = ["${join(REPOSITORY, "tests/extensions/mcp/speech_server.py")}"]
env = { MICROPHONE = "${recording}" }
`;
}

test("a spoken prompt is sent, and its answer comes, until the user stops listening", async () => {
	await using workbench = await Workbench.share();
	const { chat, conversation, model, folder } = workbench;
	const settings = join(folder, "../home/.config/pygent-ls");
	const recording = join(folder, "../speech.wav");
	await promisify(execFile)("espeak-ng", ["-s", "130", "-w", recording, "run the tests"]);
	await mkdir(settings, { recursive: true });
	await writeFile(join(settings, "config.toml"), settingsWith(recording));
	try {
		await model.script({ text: "Hello." }, { text: "They pass." });
		await workbench.openChat();
		await workbench.prompt("Hi");
		await conversation.getByText("Hello.").waitFor();

		await chat.getByRole("button", { name: "Speak prompts" }).click();
		await conversation.getByRole("article", { name: "You" }).getByText("run the tests").waitFor();
		await conversation.getByText("They pass.").waitFor();
		await chat.getByRole("button", { name: "Stop listening" }).click();
		await chat.getByRole("button", { name: "Speak prompts" }).waitFor();
	} finally {
		await rm(join(settings, "config.toml"));
	}
});

import { test } from "node:test";
import { Workbench } from "../../workbench.ts";

test("a long file is seen while it is written, and its card becomes that of the edit", async () => {
	await using workbench = await Workbench.share({ "cart.py": "total = 0\n" });
	const { conversation, model } = workbench;
	const content = Array.from({ length: 60 }, (_, n) => `line_${n} = ${n}\n`).join("");
	await model.script(
		{ calls: [{ name: "create_file", arguments: { path: "long.py", content } }], chunk: 40, pause_after: 20 },
		{ text: "It is there." },
	);
	await workbench.openChat();

	await workbench.prompt("Write a long file");
	const draft = conversation.locator(".tool.writing");
	await draft.filter({ hasText: "create_file long.py" }).waitFor();
	await draft.locator(".output").filter({ hasText: "line_30 = 30" }).waitFor();
	await model.resume();

	await conversation.getByRole("button", { name: /^Allow once/ }).click();
	await conversation.getByText("It is there.").waitFor();
	await conversation.locator(".tool.done").filter({ hasText: "Create long.py" }).waitFor();
	await draft.waitFor({ state: "detached" });
});

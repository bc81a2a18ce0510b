import { test } from "node:test";
import { Workbench } from "../../workbench.ts";

test("the packaged extension is installed and starts with the window", async () => {
	await using workbench = await Workbench.share({ "cart.py": "total = 0\n" });

	await workbench.command("Developer: Show Running Extensions");

	const row = workbench.page.locator(".runtime-extensions-editor .extension").filter({ hasText: "pygent" });
	await row.filter({ hasText: "Activation" }).waitFor(); // "Activating..." before it
});

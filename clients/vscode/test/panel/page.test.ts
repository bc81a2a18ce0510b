import assert from "node:assert/strict";
import { test } from "node:test";
import { Panel, type ThemeName } from "./panel.ts";

for (const theme of ["light", "dark", "high-contrast", "high-contrast-light"] satisfies ThemeName[]) {
	test(`the page is painted in the colours of the theme: ${theme}`, async () => {
		await using panel = await Panel.open({ theme });

		await panel.page.getByRole("textbox").first().waitFor();

		const [colour, wanted] = await panel.page.evaluate(() => {
			const probe = document.body.appendChild(document.createElement("i"));
			probe.style.color = "var(--vscode-editor-foreground)";
			return [getComputedStyle(document.body).color, getComputedStyle(probe).color];
		});
		assert.equal(colour, wanted);
		assert.deepEqual(panel.faults, []);
	});
}

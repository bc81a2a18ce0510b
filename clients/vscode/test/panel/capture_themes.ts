/**
 * Writes `themes/`: the variables that a web view of the real workbench is given in each theme, and the style sheet that
 * it begins with. Run it when the workbench that
 * tests use is a newer one: `node test/panel/capture_themes.ts`.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { launchBrowser } from "../browser.ts";
import { Scratch } from "../paths.ts";
import { STEADY_SETTINGS, WorkbenchServer } from "../workbench/server.ts";
import type { Theme } from "./panel.ts";

const THEMES = {
	light: "Default Light Modern",
	dark: "Default Dark Modern",
	"high-contrast": "Default High Contrast",
	"high-contrast-light": "Default High Contrast Light",
} as const;

await using started = new AsyncDisposableStack();
const scratch = started.use(await Scratch.create());
const server = started.adopt(await WorkbenchServer.start(scratch, { vsix: null, env: {} }), (each) => each.stop());
const browser = started.adopt(await launchBrowser(), (each) => each.close());
const folder = await scratch.folder("workspace", { "page.md": "# Page\n" });

for (const [name, title] of Object.entries(THEMES)) {
	const settings = { ...STEADY_SETTINGS, "workbench.colorTheme": title, "window.autoDetectHighContrast": false };
	await scratch.folder("server/User", { "settings.json": JSON.stringify(settings) });
	const page = await browser.newPage();
	await page.goto(server.address(folder));
	await page.getByRole("treeitem", { name: "page.md" }).dblclick();
	await page.locator(".monaco-editor .view-line").first().click();
	await page.keyboard.press("Control+Shift+V"); // the preview is a web view that every workbench has
	const view = page.frameLocator("iframe.webview.ready").frameLocator("#active-frame");
	await view.locator("h1").waitFor();
	const theme = await view.locator("html").evaluate((html): Theme => {
		const own = [...document.body.classList].filter((name) => /^vscode-(?!body)/.test(name)); // less the preview's
		const variables = [...html.style].map((property) => [property, html.style.getPropertyValue(property)] as const);
		return {
			body: { classes: own, dataset: { ...document.body.dataset } as Record<string, string> },
			variables: Object.fromEntries(variables.filter(([property]) => property.startsWith("--vscode-"))),
		};
	});
	await writeFile(join(import.meta.dirname, `themes/${name}.json`), `${JSON.stringify(theme, null, 2)}\n`);
	const preset = (await view.locator("#_defaultStyles").textContent()) ?? "";
	await writeFile(join(import.meta.dirname, "themes/preset.css"), `${preset.trim()}\n`);
	await page.close();
}

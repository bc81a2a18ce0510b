/** The field of the panel in which the user writes. */
import type { Locator } from "playwright-core";
import type { Panel } from "./panel.ts";

export function promptOf(panel: Panel): Locator {
	return panel.page.getByRole("textbox", { name: "Prompt" });
}

/** Resolves when the field holds that text. */
export async function holds(field: Locator, text: string): Promise<void> {
	await field
		.page()
		.waitForFunction(([element, wanted]) => element instanceof HTMLTextAreaElement && element.value === wanted, [
			await field.elementHandle(),
			text,
		] as const);
}

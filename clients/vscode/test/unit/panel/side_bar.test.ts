import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { VIEW_IDS, viewOf } from "../../../src/panel/side_bar.ts";
import { CLIENT } from "../../places.ts";

interface View {
	readonly id: string;
	readonly when: string;
}

const { contributes } = JSON.parse(readFileSync(join(CLIENT, "package.json"), "utf8")) as {
	readonly contributes: {
		readonly viewsContainers: Readonly<Record<string, readonly { readonly id: string }[]>>;
		readonly views: Readonly<Record<string, readonly View[]>>;
	};
};

test("an editor that has a place for it in the secondary side bar shows the chat there, an older one in the activity bar", () => {
	const placed = Object.entries(contributes.viewsContainers).flatMap(([bar, containers]) =>
		containers.flatMap(({ id }) => (contributes.views[id] ?? []).map((view) => ({ bar, ...view }))),
	);

	assert.deepEqual(
		placed.map(({ bar, id, when }) => ({ bar, id, when })),
		[
			{ bar: "activitybar", id: viewOf("1.105.1"), when: "pygent.hasNoSecondarySideBar" },
			{ bar: "secondarySidebar", id: viewOf("1.106.0"), when: "!pygent.hasNoSecondarySideBar" },
		],
	);
	assert.deepEqual(placed.map(({ id }) => id).sort(), [...VIEW_IDS].sort());
	assert.equal(viewOf("1.139.1-insider"), viewOf("2.0.0"));
	assert.equal(viewOf("1.100.0"), viewOf("1.99.3"));
});

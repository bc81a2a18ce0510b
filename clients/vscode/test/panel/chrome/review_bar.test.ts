import assert from "node:assert/strict";
import { test } from "node:test";
import { EMPTY } from "../../../src/conversation/state.ts";
import { Panel, READY } from "../panel.ts";

const FILES = [
	{ uri: "file:///work/shop/cart.py", path: "cart.py", hunks: 2 },
	{ uri: "file:///work/shop/prices.py", path: "prices.py", hunks: 1 },
];

test("what waits for review is counted, and all of it is shown, accepted or rejected from there", async () => {
	await using panel = await Panel.open({
		conversation: { ...EMPTY, sessionId: "s1" },
		panel: { review: { hunks: 3, files: FILES, rejected: [] } },
	});
	const bar = panel.page.getByRole("region", { name: "Changes to review" });

	await bar.getByText("3 changes in 2 files").waitFor();
	await bar.getByRole("button", { name: "Review" }).click();
	await panel.called("reviewAll");
	await bar.getByRole("button", { name: "Accept all changes" }).click();
	assert.deepEqual((await panel.called("decideAll")).params, { accept: true, uri: null });
	await bar.getByRole("button", { name: "Reject all changes" }).click();
	assert.deepEqual((await panel.called("decideAll", 1)).params, { accept: false, uri: null });

	await panel.send({ type: "panel", panel: READY });
	await bar.waitFor({ state: "detached" });
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { MOST_RESTARTS, RestartPolicy, WITHIN_MS } from "../../../src/daemon/restart_policy.ts";

test("a daemon is started again three times in three minutes, and then the user is asked", () => {
	const restarts = new RestartPolicy();
	const verdicts = [0, 1, 2, 3].map((second) => restarts.ended(second * 1000));

	assert.deepEqual(
		verdicts.map((each) => each.restarts),
		[true, true, true, false],
	);
	assert.deepEqual(verdicts.at(-1), { restarts: false, ends: MOST_RESTARTS + 1 });
});

test("ends that lie long back no longer count, nor do those before the user had it started", () => {
	const restarts = new RestartPolicy();
	for (const at of [0, 1, 2]) restarts.ended(at);

	assert.equal(restarts.ended(WITHIN_MS + 1).restarts, true);
	restarts.ended(WITHIN_MS + 2);
	restarts.forget();
	assert.equal(restarts.ended(WITHIN_MS + 3).restarts, true);
});

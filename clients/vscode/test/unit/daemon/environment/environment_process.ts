/** A window that makes an environment, as a process that a test can kill: prints a line when it has begun. */
import { environmentPython } from "../../../../src/daemon/environment/environment.ts";

const [storage = "", wheel = "", configured = ""] = process.argv.slice(2);

await environmentPython({
	storage,
	wheel,
	configured,
	env: process.env,
	say: (step) => {
		if (step.startsWith("making")) console.log(step);
	},
	log: () => undefined,
	signal: new AbortController().signal,
	allow: () => undefined,
});

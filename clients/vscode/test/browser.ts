/** The Chromium that tests look at the panel and the workbench with. */
import { type Browser, chromium } from "playwright-core";
import { browserPath } from "./paths.ts";

export function launchBrowser(): Promise<Browser> {
	return chromium.launch({
		executablePath: browserPath(),
		ignoreDefaultArgs: ["--hide-scrollbars"],
		// The pages are ours, and a container's root may not make the sandbox. Nothing but loopback is looked up.
		args: [
			...["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"],
			...["--disable-background-networking", "--disable-component-update"],
			"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
		],
	});
}

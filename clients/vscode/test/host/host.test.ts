/**
 * Runs the tests in `inside/` in the extension host of the real workbench, with the editor's own API, and tells what came
 * of each. The extension is built from the sources as they are; the daemon is the real one, its model a script.
 */
import { cp } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { test } from "node:test";
import { type BuildOptions, build } from "esbuild";
import { bundles } from "../../scripts/bundles.ts";
import { launchBrowser } from "../browser.ts";
import { ModelServer, type Step } from "../model_server.ts";
import { CLIENT, DAEMON, Scratch } from "../paths.ts";
import { STEADY_SETTINGS, WorkbenchServer } from "../workbench/server.ts";
import type { Outcome } from "./inside/harness.ts";

/** Time limit for all tests on a loaded machine; each of their waits has its own bound. */
const RUN_MS = 580_000;

const ALLOWED = 'mode = "accept_edits"\n[permissions]\nallow = ["delete_file", "move_file"]\n';

test("in the extension host", { timeout: RUN_MS + 20_000 }, async (context) => {
	await using started = new AsyncDisposableStack();
	const scratch = started.use(await Scratch.create());
	const model = started.adopt(await ModelServer.start(), (each) => each.stop());
	const control = started.adopt(await serveControl(model), (each) => void each.close());
	const env = { ...model.env, PYGENT_MODEL: "openai/mock", PYGENT_TEST_MODEL: addressOf(control) };
	const server = started.adopt(await WorkbenchServer.start(scratch, { vsix: null, env }), (each) => each.stop());
	await buildInto(scratch.path);
	const settings = { ...STEADY_SETTINGS, "pygent.server.path": DAEMON };
	for (const whose of ["User", "Machine"]) {
		await scratch.folder(`server/${whose}`, { "settings.json": JSON.stringify(settings) });
	}
	// Questions are for a person at the panel: here the user has said yes beforehand.
	await scratch.folder("home/.config/pygent-ls", { "config.toml": ALLOWED });
	const folder = await scratch.folder("workspace", { "cart.py": "total = 0\n" });
	const browser = started.adopt(await launchBrowser(), (each) => each.close());

	const outcomes: Outcome[] = [];
	const log: string[] = [];
	const ended = Promise.withResolvers<number>();
	const page = await browser.newPage({ permissions: ["clipboard-read", "clipboard-write"] });
	await page.exposeFunction("codeAutomationLog", (_kind: string, parts: readonly unknown[]) => {
		const line = parts.join(" ");
		log.push(line);
		const found = /OUTCOME (\{.*\})/.exec(line)?.[1];
		if (found !== undefined) outcomes.push(JSON.parse(found) as Outcome);
	});
	await page.exposeFunction("codeAutomationExit", (code: number) => ended.resolve(code));
	const remote = (path: string) => `vscode-remote://127.0.0.1:${server.port}${path}`;
	const payload = JSON.stringify([
		["extensionDevelopmentPath", remote(join(scratch.path, "extension"))],
		["extensionTestsPath", remote(join(scratch.path, "tests/index.cjs"))],
	]);
	await page.goto(server.address(folder, { payload }));
	const late = setTimeout(() => ended.reject(new Error(`not done in ${RUN_MS / 1000} s:\n${log.join("\n")}`)), RUN_MS);
	const code = await ended.promise.finally(() => clearTimeout(late));

	for (const { name, error } of outcomes) {
		await context.test(name, () => {
			if (error !== null) throw new Error(error);
		});
	}
	if (code !== 0 || outcomes.length === 0) throw new Error(`the tests could not be run (${code}):\n${log.join("\n")}`);
});

/** The extension as it would be packaged, less the wheel, and the tests as one file. */
async function buildInto(folder: string): Promise<void> {
	const { extension, page } = bundles({ production: false, outdir: join(folder, "extension/dist") });
	const tests: BuildOptions = {
		...extension,
		outdir: join(folder, "tests"),
		entryPoints: { index: join(import.meta.dirname, "inside/index.ts") },
	};
	await Promise.all([extension, page, tests].map((options) => build({ ...options, logLevel: "error" })));
	for (const name of ["package.json", "media"]) {
		await cp(join(CLIENT, name), join(folder, "extension", name), { recursive: true });
	}
}

/** Lets tests in the extension host script the model: a method of `ModelServer` and its parameters. */
async function serveControl(model: ModelServer): Promise<Server> {
	const server = createServer(async (request, response) => {
		const body = (await json(request)) as { method: string; params: readonly never[] };
		try {
			response.end(JSON.stringify((await call(model, body)) ?? null));
		} catch (error) {
			response.writeHead(500).end(String(error));
		}
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	return server;
}

async function call(model: ModelServer, body: { method: string; params: readonly never[] }): Promise<unknown> {
	switch (body.method) {
		case "script":
			return model.script(...(body.params as readonly Step[]));
		case "requests":
			return model.requests();
		case "wait":
			return model.wait(body.params[0] ?? {});
		case "resume":
			return model.resume();
		default:
			throw new Error(`the model has no ${body.method}`);
	}
}

function addressOf(server: Server): string {
	const address = server.address();
	if (address === null || typeof address === "string") throw new Error("the control has no port");
	return `http://127.0.0.1:${address.port}/`;
}

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { REPOSITORY } from "../../../paths.ts";
import { Workbench } from "../../workbench.ts";

const SERVERS = `[mcp_servers.time]
command = "${join(REPOSITORY, ".venv/bin/mcp-server-time")}"

[mcp_servers.missing]
command = "no-such-program"

[mcp_servers.everything]
command = "${process.execPath}"
args = ["${join(REPOSITORY, "build/peers/node_modules/@modelcontextprotocol/server-everything/dist/index.js")}", "stdio"]

[permissions]
allow = ["mcp__everything__*"]
`;

test("MCP servers are listed with their states, tools and logs, are started again, and ask under their own names", async () => {
	await using workbench = await Workbench.share();
	const { conversation, model, page, folder } = workbench;
	const settings = join(folder, "../home/.config/pygent-ls");
	await mkdir(settings, { recursive: true });
	await writeFile(join(settings, "config.toml"), SERVERS);
	try {
		await model.script({ text: "Hello." });
		await workbench.openChat();
		await workbench.prompt("Hi");
		await conversation.getByText("Hello.").waitFor();

		await workbench.command("pygent: Show MCP Servers");
		const list = page.locator(".quick-input-widget");
		const time = list.getByRole("option", { name: /time/ });
		await time.filter({ hasText: "2 tools" }).waitFor();
		const missing = list.getByRole("option", { name: /missing/ });
		await missing.filter({ hasText: "The program no-such-program was not found." }).waitFor();
		await missing.hover();
		await missing.getByRole("button", { name: "Start again" }).click();
		await time.hover();
		await time.getByRole("button", { name: "Show log" }).click();

		await page.locator(".view-line").filter({ hasText: "[connected]" }).waitFor();
		await workbench.command("pygent: Show MCP Servers");
		await time.click();
		await page.locator(".view-line").filter({ hasText: "mcp__time__convert_time" }).waitFor();

		const asking = { name: "mcp__everything__trigger-elicitation-request", arguments: {} };
		await model.script({ calls: [asking] }, { text: "Nobody answered." });
		await workbench.openChat();
		await workbench.prompt("Ask me");
		await list.getByText("pygent: Question from the MCP Server everything").waitFor();
		await page.keyboard.press("Escape");
		await conversation.getByText("Nobody answered.").waitFor();
	} finally {
		await rm(join(settings, "config.toml"));
	}
});

test("a user signs in to a server from the list of MCP servers", async () => {
	await using workbench = await Workbench.share();
	const { page, folder } = workbench;
	const settings = join(folder, "../home/.config/pygent-ls");
	const grants = await mkdtemp(join(tmpdir(), "grants-"));
	const program = join(REPOSITORY, "tests/extensions/mcp/oauth_server.py");
	const server = spawn(join(REPOSITORY, ".venv/bin/python"), [program, grants], {
		stdio: ["ignore", "pipe", "ignore"],
	});
	try {
		const [port] = (await once(server.stdout, "data")) as [Buffer];
		await mkdir(settings, { recursive: true });
		const url = `http://127.0.0.1:${port.toString().trim()}/mcp`;
		await writeFile(join(settings, "config.toml"), `[mcp_servers.guarded]\nurl = "${url}"\n`);
		await workbench.model.script({ text: "Hello." });
		await workbench.openChat();
		await workbench.prompt("Hi");
		await workbench.conversation.getByText("Hello.").waitFor();

		await workbench.command("pygent: Show MCP Servers");
		const listed = page.locator(".quick-input-widget").getByRole("option", { name: /guarded/ });
		await listed.hover();
		await listed.getByRole("button", { name: "Sign in" }).click();

		// The browser opens the page of the authorization server, which agrees at once.
		await listed.filter({ hasText: "1 tool" }).waitFor();
		assert.match(await readFile(join(grants, "grants"), "utf8"), /^authorization_code$/m);
	} finally {
		server.kill();
		await rm(join(settings, "config.toml"), { force: true });
	}
});

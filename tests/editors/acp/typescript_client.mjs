// A client made of the official TypeScript SDK: `node typescript_client.mjs SDK FOLDER COMMAND…`.
// Runs one story, and writes what it saw as one JSON object. The SDK checks each message against the protocol's schema.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";

const [sdk, folder, command, ...args] = process.argv.slice(2);
const { client, methods, ndJsonStream } = await import(sdk);

const path = join(folder, "a.py");
const buffers = new Map([[path, "x = 1\ny = 2\n"]]);
const updates = [];
const asked = [];

const agent = spawn(command, args, { cwd: folder, stdio: ["pipe", "pipe", "inherit"] });
const ended = new Promise((resolve) => agent.on("exit", resolve));

const seen = await client({ name: "story" })
	.onRequest(methods.client.fs.readTextFile, ({ params }) => ({
		content: buffers.get(params.path) ?? readFileSync(params.path, "utf8"),
	}))
	.onRequest(methods.client.fs.writeTextFile, ({ params }) => {
		buffers.set(params.path, params.content);
		return {};
	})
	.onRequest(methods.client.session.requestPermission, ({ params }) => {
		asked.push(params.toolCall.content.map((each) => each.type));
		const { optionId } = params.options.find(({ kind }) => kind === "allow_once");
		return { outcome: { outcome: "selected", optionId } };
	})
	.onNotification(methods.client.session.update, ({ params }) => {
		updates.push(params.update);
	})
	.connectWith(ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout)), async (context) => {
		const { session } = methods.agent;
		const greeting = await context.request(methods.agent.initialize, {
			protocolVersion: 1,
			clientCapabilities: { fs: { readTextFile: true, writeTextFile: true } },
		});
		const { sessionId, modes, configOptions } = await context.request(session.new, { cwd: folder, mcpServers: [] });
		const prompt = [{ type: "text", text: "change y" }];
		const { stopReason } = await context.request(session.prompt, { sessionId, prompt });
		const nUpdates = updates.length;
		await context.request(session.setMode, { sessionId, modeId: "plan" });
		const option = { sessionId, configId: "effort", value: "low" };
		const chosen = await context.request(session.setConfigOption, option);
		const { sessions } = await context.request(session.list, { cwd: folder });
		await context.request(session.close, { sessionId });
		await context.request(session.load, { sessionId, cwd: folder, mcpServers: [] });
		await context.request(session.resume, { sessionId, cwd: folder });
		await context.request(session.delete, { sessionId });
		return {
			agent: greeting.agentInfo.name,
			modes: modes.availableModes.map(({ id }) => id),
			options: configOptions.map(({ id }) => id),
			effort: chosen.configOptions.find(({ id }) => id === "effort").currentValue,
			stopReason,
			kinds: [...new Set(updates.slice(0, nUpdates).map(({ sessionUpdate }) => sessionUpdate))],
			replayed: updates.slice(nUpdates).filter(({ sessionUpdate }) => sessionUpdate === "user_message_chunk").length,
			listed: sessions.map(({ title }) => title),
		};
	});
agent.stdin.end();
console.log(JSON.stringify({ ...seen, asked, buffer: buffers.get(path), exit: await ended }));

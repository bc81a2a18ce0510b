import assert from "node:assert/strict";
import { test } from "node:test";
import { Workbench } from "../../workbench.ts";

const HOSTILE = [
	"<script>window.harmed = 'script'</script>",
	"<img src=x onerror=\"window.harmed = 'image'\">",
	"<iframe src='https://evil.example/frame'></iframe>",
	"<style>body { display: none }</style>",
	"![picture](https://evil.example/pixel.png)",
	"[a link](javascript:window.harmed='link')",
	"[a command](command:workbench.action.closeWindow)",
	"<form action='https://evil.example/'><input name='secret'></form>",
	"<svg><a xlink:href='javascript:alert(1)'><text>click</text></a></svg>",
	"The end.",
].join("\n\n");

test("hostile markdown of the model runs nothing and fetches nothing", async () => {
	await using workbench = await Workbench.share();
	const { chat, conversation, model, page } = workbench;
	const asked: string[] = [];
	page.on("request", (request) => asked.push(request.url()));
	await model.script({ thinking: HOSTILE, text: HOSTILE });
	await workbench.openChat();

	await workbench.prompt(HOSTILE);
	await conversation.getByText("The end.", { exact: true }).last().waitFor();
	await chat.getByRole("button", { name: "Send", exact: true }).waitFor();

	const frame = chat.locator("body");
	assert.equal(await frame.evaluate(() => (window as { harmed?: string }).harmed), undefined);
	assert.equal(await chat.locator("iframe, form, object, embed, feed style, main script").count(), 0);
	assert.equal(await chat.locator("a[href^='javascript:' i], a[href^='command:' i], [onerror]").count(), 0);
	assert.deepEqual(
		asked.filter((url) => url.includes("evil.example")),
		[],
	);
});

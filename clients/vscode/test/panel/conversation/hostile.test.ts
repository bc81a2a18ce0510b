import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { build } from "esbuild";
import { CLIENT } from "../../paths.ts";
import { conversation, outcome, permission, prompt, text, thinking, tool } from "../conversation_items.ts";
import { Panel } from "../panel.ts";

/** Each tries to run, load, post, look like the panel's own or lead away. */
const MARKDOWN: Readonly<Record<string, string>> = {
	script: "<script>window.pwned = 1</script>\n\nafter",
	"inline script": "hello <script>window.pwned = 1</script> world",
	onerror: '<img src=x onerror="window.pwned=1"> <img src="https://evil.test/a.png" alt="cat">',
	"markdown image":
		"![cat](https://evil.test/cat.png) ![x](data:image/svg+xml,<svg onload=alert(1)>) ![y](file:///etc/passwd)",
	svg: '<svg onload="window.pwned=1"><script>window.pwned=1</script><a xlink:href="javascript:window.pwned=1">x</a></svg>',
	math: '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=window.pwned=1&gt;">',
	style: '<style>body{display:none}</style><p style="position:fixed;inset:0">over all</p>',
	"meta refresh": '<meta http-equiv="refresh" content="0;url=https://evil.test/">',
	base: '<base href="https://evil.test/">[a](b)',
	form: '<form action="https://evil.test/"><input name=a autofocus onfocus="window.pwned=1"><button>Allow once</button></form>',
	frames:
		'<iframe src="https://evil.test/" srcdoc="<script>parent.pwned=1</script>"></iframe><object data="x"></object><embed src="x">',
	media:
		'<video src="https://evil.test/v" autoplay onloadstart="window.pwned=1"></video><audio src=x onerror="window.pwned=1">',
	links:
		"[a](javascript:window.pwned=1) [b](JaVaScRiPt:window.pwned=1) [c](command:workbench.action.terminal.new) [d](vscode://x/y) [e](file:///etc/passwd) [f](data:text/html,x) <javascript:window.pwned=1> [g](&#106;avascript:window.pwned=1) [h](java\tscript:window.pwned=1) [i](//evil.test/x)",
	"raw links":
		'<a href="javascript:window.pwned=1" onclick="window.pwned=1" data-link="command:evil" target=_blank>x</a><a href="https://ok.test/" class="choice" id="root" name="pwned">y</a>',
	quotes: `[x](https://ok.test/"onmouseover="window.pwned=1) <a href='"><img src=x onerror=window.pwned=1>'>q</a> <p title="</p><img src=x onerror=window.pwned=1>">`,
	clobbering:
		'<a id="root"></a><form id="acquireVsCodeApi"><input name="postMessage"></form><img name="document"><p id="__proto__" name="hasOwnProperty">',
	"panel's own":
		'<div class="ask permission" role="alert" data-ask="x" data-row="x" tabindex="-1"><button class="choice first">Allow</button></div>',
	"prototype pollution":
		"[__proto__]: https://evil.test/ 'x'\n[constructor]: https://evil.test/\n\n[a][__proto__] [b][constructor] [toString] [c][hasOwnProperty]\n\n```__proto__\nx\n```\n\n```constructor\nx\n```",
	unclosed: "**a *b ~~c `d [e](f <b <i title='x <!-- <![CDATA[ <?php <table><tr><td>",
	"unclosed fence": "```html\n<script>window.pwned=1</script>\n<img src=x onerror=window.pwned=1>",
	"hidden characters": "safe\u0000\u0008 \ud800 \ufeff text",
	template:
		'<template><script>window.pwned=1</script></template><noscript><p title="</noscript><img src=x onerror=window.pwned=1>"></noscript>',
	"namespace confusion": "<form><math><mtext></form><form><mglyph><style></math><img src onerror=window.pwned=1>",
	"nested too deep": `${">".repeat(3000)} deep\n\n${"- ".repeat(2000)}deep\n\n${"[".repeat(5000)}`,
	emphasis: "*a **b ".repeat(3000),
	"huge table": `|${"a|".repeat(60)}\n|${"-|".repeat(60)}\n${`|${"x|".repeat(60)}\n`.repeat(200)}`,
	"long line": "x".repeat(1_000_000),
	"long line of brackets": "[](".repeat(330_000),
	"long fence": `\`\`\`js\n${"a".repeat(1_000_000)}\n\`\`\``,
	"many blocks": "- a\n\n1. b\n\n> c\n\n".repeat(1000),
};

const TAGS =
	"a b blockquote br code del div em h3 h4 h5 h6 hr i kbd li ol p pre s samp span strong sub sup table tbody td th thead tr ul button";

/** Elements made from an answer; buttons are the panel's own. */
const ATTRIBUTES = "align class dir role tabindex title data-link start aria-label aria-hidden type";

test("hostile markdown runs nothing, loads nothing, and leads nowhere", async () => {
	await using panel = await Panel.open();
	const requests: string[] = [];
	const dialogs: string[] = [];
	panel.page.on("request", (request) => requests.push(request.url()));
	panel.page.on("dialog", (dialog) => {
		dialogs.push(dialog.message());
		void dialog.dismiss();
	});

	for (const [name, source] of Object.entries(MARKDOWN)) {
		await panel.send({
			type: "conversation",
			conversation: conversation([text({ key: name, text: source })], { sessionId: name }),
		});
		await panel.page.locator(".answer .markdown").waitFor({ state: "attached" });
		const found = await panel.page.evaluate(
			async ({ tags, attributes }) => {
				await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
				const all = [...document.querySelectorAll(".answer .markdown *")];
				return {
					tags: [...new Set(all.map(({ localName }) => localName))].filter((tag) => !tags.split(" ").includes(tag)),
					attributes: [...new Set(all.flatMap((element) => element.getAttributeNames()))].filter(
						(attribute) => !attributes.split(" ").includes(attribute),
					),
					classes: all
						.filter((element) => element.closest(".prose") !== null && !element.classList.contains("prose"))
						.flatMap((element) => [...element.classList]),
					links: [...document.querySelectorAll("[data-link]")].map((link) => link.getAttribute("data-link") ?? ""),
					ran: "pwned" in window || "polluted" in {},
				};
			},
			{ tags: TAGS, attributes: ATTRIBUTES },
		);
		assert.deepEqual(
			{ name, ...found, links: found.links.filter((link) => /^(?!https:\/\/|b$)/.test(link)) },
			{ name, tags: [], attributes: [], classes: [], links: [], ran: false },
		);
	}

	assert.deepEqual({ requests, dialogs, faults: panel.faults }, { requests: [], dialogs: [], faults: [] });
	assert.deepEqual(
		panel.calls.map(({ method }) => method).filter((method) => method !== "ready" && method !== "listBackground"),
		[],
	);
});

test("the sanitiser alone stops as much, whatever the markdown made of it", async () => {
	const { outputFiles } = await build({
		entryPoints: [join(CLIENT, "src/webview/conversation/markdown/sanitiser.ts")],
		bundle: true,
		write: false,
		format: "iife",
		globalName: "sanitise",
	});
	await using panel = await Panel.open();
	const requests: string[] = [];
	panel.page.on("request", (request) => requests.push(request.url()));
	await panel.page.evaluate(`${outputFiles[0]?.text}; window.proseOf = sanitise.proseOf`);

	const found = await panel.page.evaluate(
		async (sources) => {
			const { proseOf } = window as unknown as { proseOf(html: string): DocumentFragment };
			const place = document.body.appendChild(document.createElement("div"));
			for (const source of sources) place.append(proseOf(source));
			await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
			const all = [...place.querySelectorAll("*")];
			return {
				tags: [...new Set(all.map(({ localName }) => localName))].sort(),
				attributes: [...new Set(all.flatMap((element) => element.getAttributeNames()))].sort(),
				links: all.map((element) => element.getAttribute("data-link")).filter((link) => link !== null),
				ran: "pwned" in window,
			};
		},
		Object.values(MARKDOWN).filter(({ length }) => length < 10_000),
	);

	assert.deepEqual(found, {
		tags: found.tags.filter((tag) => TAGS.split(" ").includes(tag) && tag !== "div" && tag !== "button"),
		attributes: ["data-link", "role", "tabindex", "title"],
		links: ["b", "https://ok.test/"].filter((link) => found.links.includes(link)),
		ran: false,
	});
	assert.deepEqual(requests, []);
});

test("hostile words are as harmless wherever else they are shown", async () => {
	const evil = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>\u202e';
	await using panel = await Panel.open({
		conversation: conversation(
			[
				prompt({ key: "1", text: evil }),
				thinking({ key: "2", text: evil }),
				tool({
					key: "3",
					title: evil,
					kind: "edit",
					result: outcome(evil, { isError: true }),
					status: "failed",
					changes: [{ uri: `file:///${evil}`, kind: "edit", added: 1, removed: 0, patch: `@@ -1,0 +1,1 @@\n+${evil}` }],
				}),
				tool({
					key: "4",
					title: evil,
					kind: "execute",
					status: "running",
					output: `\u001b]8;;https://evil.test\u0007${evil}`,
				}),
			],
			{ asks: [permission("p", "none", { title: evil, message: evil })], runningTurnId: "t1" },
		),
	});
	await panel.page.getByRole("button", { name: /Thought/ }).click();

	await panel.page.locator(".permission").waitFor();
	const found = await panel.page.evaluate(() => ({
		ran: "pwned" in window,
		images: document.querySelectorAll("#root :is(img, script)").length,
		hidden: document.body.textContent?.includes("\u202e"),
		shown: (document.body.textContent ?? "").split("‹U+202E›").length > 6,
	}));

	assert.deepEqual(found, { ran: false, images: 0, hidden: false, shown: true });
	assert.deepEqual(panel.faults, []);
});

test("characters that turn the order of a line are written out", async () => {
	const source = "if access != `user\u202e\u2066 // check\u2069\u2066`\n\n```py\n# \u202e begin\n```";
	await using panel = await Panel.open({ conversation: conversation([text({ key: "1", text: source })]) });

	await panel.page.getByText("‹U+202E›‹U+2066› // check").waitFor();
	await panel.page.getByText("# ‹U+202E› begin").waitFor();
});

test("a link shows where it leads, and says so where its words name another place", async () => {
	const source = [
		"[docs](https://docs.test/a?b=c)",
		"[https://bank.test](https://evil.test/login)",
		"[pay](https://pаypal.test/)",
		"[bank.test](https://www.bank.test/x)",
		"[user](https://user:pass@evil.test/)",
	].join(" ");
	await using panel = await Panel.open({ conversation: conversation([text({ key: "1", text: source })]) });

	await panel.page.getByRole("link").first().waitFor();
	const links = await panel.page
		.getByRole("link")
		.evaluateAll((all) => all.map((link) => [link.textContent, link.getAttribute("title")]));

	assert.deepEqual(links, [
		["docs", "https://docs.test/a?b=c"],
		["https://bank.test (evil.test)", "https://evil.test/login"],
		["pay (xn--pypal-4ve.test)", "https://xn--pypal-4ve.test/"],
		["bank.test", "https://www.bank.test/x"],
	]);
});

test("a click on a link, or Enter, asks the extension host to open it, and nothing else happens", async () => {
	const source = "[docs](https://docs.test/) and `src/cart.py:10` and [file](src/a%20b.py) and `os.path`";
	await using panel = await Panel.open({ conversation: conversation([text({ key: "1", text: source })]) });

	await panel.page.getByRole("link", { name: "docs" }).click();
	await panel.page.getByRole("link", { name: "src/cart.py:10" }).focus();
	await panel.page.keyboard.press("Enter");
	await panel.page.getByRole("link", { name: "file" }).click({ button: "middle" });
	await panel.called("openLink", 2);

	assert.deepEqual(
		panel.calls.filter(({ method }) => method === "openLink").map(({ params }) => params),
		[{ href: "https://docs.test/" }, { href: "src/cart.py:10" }, { href: "src/a b.py" }],
	);
	assert.equal(await panel.page.getByRole("link").count(), 3);
	assert.equal(panel.page.context().pages().length, 1);
	assert.equal(panel.page.url(), "https://panel.test/");
});

test("HTML of an answer is shown as it is written, but for what only changes the look of words", async () => {
	const source =
		"Press <kbd>Enter</kbd><br>x<sup>2</sup> <!-- hidden --> <b onclick=x>bold</b>\n\n<details><summary>More</summary>";
	await using panel = await Panel.open({ conversation: conversation([text({ key: "1", text: source })]) });

	await panel.page.getByText("More").waitFor();
	const html = await panel.page.locator(".prose").evaluateAll((all) => all.map((element) => element.innerHTML.trim()));

	assert.deepEqual(html, [
		"<p>Press <kbd>Enter</kbd><br>x<sup>2</sup> &lt;!-- hidden --&gt; &lt;b onclick=x&gt;bold</p>",
		"&lt;details&gt;&lt;summary&gt;More&lt;/summary&gt;",
	]);
});

test("a picture is not loaded: its name and its address are shown", async () => {
	const source = "![a cat](https://evil.test/cat.png)\n\na <img src='https://evil.test/dog.png' alt='a dog'>";
	await using panel = await Panel.open({ conversation: conversation([text({ key: "1", text: source })]) });

	await panel.page.getByText("a cat (https://evil.test/cat.png)").waitFor();
	await panel.page.getByText("a <img src='https://evil.test/dog.png' alt='a dog'>").waitFor();
	assert.deepEqual(panel.faults, []);
});

test("lists deeper than anybody writes are shown as they are", async () => {
	const deep = Array.from({ length: 300 }, (_, at) => `${"  ".repeat(at)}- x${at}`).join("\n");
	const wide = `${"- ".repeat(2000)}y`;
	await using panel = await Panel.open({
		conversation: conversation([text({ key: "1", text: deep }), text({ key: "2", text: wide })]),
	});

	await panel.page.getByText("x50").waitFor();
	assert.equal(await panel.page.locator(".answer li").count(), 0);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { Panel } from "../panel.ts";
import { holds, promptOf } from "../prompt.ts";
import { CONVERSATION, FILE, SELECTION } from "../shown_session.ts";

/** One point, red. */
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";

interface Given {
	readonly name: string;
	readonly type: string;
	/** Base64; or how many bytes of zeros. */
	readonly content: string | number;
}

interface Carried {
	readonly files?: readonly Given[];
	/** By their types. */
	readonly data?: Readonly<Record<string, string>>;
}

/** What a paste or a drop onto the prompt brings; true where the view takes it, and the browser does nothing more. */
async function bring(panel: Panel, event: "paste" | "drop" | "dragover", carried: Carried): Promise<boolean> {
	return await promptOf(panel).evaluate(
		(field, { event, files, data }) => {
			const transfer = new DataTransfer();
			for (const { name, type, content } of files) {
				const bytes =
					typeof content === "number"
						? new Uint8Array(content)
						: Uint8Array.from(atob(content), (each) => each.charCodeAt(0));
				transfer.items.add(new File([bytes], name, { type }));
			}
			for (const [type, text] of data) transfer.setData(type, text);
			const options = { bubbles: true, cancelable: true };
			const made =
				event === "paste"
					? new ClipboardEvent("paste", { ...options, clipboardData: transfer })
					: new DragEvent(event, { ...options, dataTransfer: transfer });
			return !field.dispatchEvent(made);
		},
		{ event, files: carried.files ?? [], data: Object.entries(carried.data ?? {}) },
	);
}

test("a picture is pasted, shown, and sent as its bytes", async () => {
	await using panel = await Panel.open({ answers: { send: () => ({ turnId: "t1" }) } });

	assert.ok(await bring(panel, "paste", { files: [{ name: "image.png", type: "image/png", content: PNG }] }));
	const picture = panel.page.getByRole("list", { name: "Attached" }).locator("img");
	await picture.waitFor();
	assert.equal(await picture.evaluate((image: HTMLImageElement) => image.decode().then(() => image.naturalWidth)), 1);
	await promptOf(panel).press("Enter");

	const [attachment] = (await panel.called("send")).params.attachments;
	assert.deepEqual(attachment?.block, { type: "image", mimeType: "image/png", data: PNG });
	await picture.waitFor({ state: "detached" });
	assert.deepEqual(panel.faults, []);
});

test("a picture that no model takes, or that is too large, is refused with what would work", async () => {
	await using panel = await Panel.open();

	await bring(panel, "paste", { files: [{ name: "scan.tiff", type: "image/tiff", content: PNG }] });
	await panel.page.getByRole("alert").getByText("attach a PNG, JPEG, GIF or WebP image").waitFor();
	await bring(panel, "paste", { files: [{ name: "big.png", type: "image/png", content: 6 * 1024 * 1024 }] });
	await panel.page.getByRole("alert").getByText("“big.png” has 6.0 MB: attach an image of at most 5 MB.").waitFor();

	assert.equal(await panel.page.getByRole("list", { name: "Attached" }).count(), 0);
});

test("text stays text, also where its picture comes along, and however long it is", async () => {
	await using panel = await Panel.open();
	const files = [{ name: "image.png", type: "image/png", content: PNG }];

	assert.equal(await bring(panel, "paste", { files, data: { "text/plain": "a table" } }), false);

	await promptOf(panel).focus();
	await panel.page.evaluate((text) => navigator.clipboard.writeText(text), "line\n".repeat(2000));
	await panel.page.keyboard.press("Control+v");
	await holds(promptOf(panel), "line\n".repeat(2000));
	assert.equal(await panel.page.getByRole("list", { name: "Attached" }).count(), 0);
});

test("files that are dropped from the explorer are attached by their addresses", async () => {
	await using panel = await Panel.open({ answers: { attachUris: () => ({ attachments: [FILE] }) } });
	const uris = "file:///work/shop/cart.py\r\nfile:///work/shop/docs";

	const data = { "text/uri-list": "file:///work/shop/cart.py", "application/vnd.code.uri-list": uris };
	assert.ok(await bring(panel, "dragover", { data }));
	assert.ok(await bring(panel, "drop", { data }));

	const { params } = await panel.called("attachUris");
	assert.deepEqual(params.uris, ["file:///work/shop/cart.py", "file:///work/shop/docs"]);
	await panel.page.getByRole("button", { name: "Remove cart.py" }).click();
	await panel.page.getByText("cart.py").waitFor({ state: "detached" });
	assert.ok(await promptOf(panel).evaluate((field) => field === document.activeElement));
});

test("a picture that is dropped is attached as a pasted one", async () => {
	await using panel = await Panel.open();

	assert.ok(await bring(panel, "drop", { files: [{ name: "shot.png", type: "image/png", content: PNG }] }));

	await panel.page.getByRole("button", { name: "Remove shot.png" }).waitFor();
});

test("the selection in the editor is one click away, and no longer offered when it is attached", async () => {
	await using panel = await Panel.open({
		panel: { selection: "cart.py:10-20" },
		answers: { pickAttachment: () => ({ attachments: [SELECTION] }) },
	});

	await panel.page.getByRole("button", { name: "Attach the selection, cart.py:10-20" }).click();

	assert.deepEqual((await panel.called("pickAttachment")).params, { what: "selection" });
	await panel.page.getByRole("button", { name: "Remove cart.py:10-20" }).waitFor();
	assert.equal(await panel.page.getByRole("button", { name: "Attach the selection" }).count(), 0);
});

test("files, symbols, problems, terminal output and pictures are added from a menu, by the keyboard too", async () => {
	await using panel = await Panel.open({ answers: { pickAttachment: () => ({ attachments: [FILE] }) } });

	await panel.page.getByRole("button", { name: "Add context…" }).press("Enter");
	const menu = panel.page.getByRole("menu", { name: "Add context…" });
	assert.deepEqual(await menu.getByRole("menuitem").allInnerTexts(), [
		"Files…",
		"Folder…",
		"Symbol…",
		"Selection",
		"Problems…",
		"Terminal Command…",
		"Image…",
	]);
	assert.equal(await menu.getByRole("menuitem", { name: "Selection" }).getAttribute("aria-disabled"), "true");
	await panel.page.keyboard.press("ArrowDown");
	await panel.page.keyboard.press("Enter");

	assert.deepEqual((await panel.called("pickAttachment")).params, { what: "folder" });
	await panel.page.getByRole("button", { name: "Remove cart.py" }).waitFor();
	assert.ok(await promptOf(panel).evaluate((field) => field === document.activeElement));
});

test("the same thing is attached once, and attachments alone can be sent", async () => {
	await using panel = await Panel.open({ conversation: CONVERSATION, answers: { send: () => ({ turnId: "t1" }) } });

	await panel.send({ type: "attach", attachments: [FILE, SELECTION] }, { type: "attach", attachments: [FILE] });
	await panel.page.getByRole("button", { name: "Remove cart.py:10-20" }).waitFor();
	await panel.page.keyboard.press("Enter");

	const { params } = await panel.called("send");
	assert.deepEqual(
		params.attachments.map(({ label }) => label),
		["cart.py:10-20", "cart.py"],
	);
});

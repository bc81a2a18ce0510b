/** What the README shows, as it is now: taken where `PYGENT_SCREENSHOTS` is set, and only looked at elsewhere. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { IMAGES, Workbench } from "../workbench.ts";

const FILES = {
	"shop/__init__.py": "",
	"shop/cart.py": `from dataclasses import dataclass, field

from shop.prices import Price


@dataclass
class Cart:
    """What a customer is about to buy."""

    items: list[Price] = field(default_factory=list)

    def add(self, price: Price) -> None:
        self.items.append(price)

    def total(self) -> float:
        return sum(item.amount for item in self.items)

    def with_tax(self, rate: float) -> float:
        return self.total() * (1 + rate)
`,
	"shop/prices.py": `from dataclasses import dataclass


@dataclass(frozen=True)
class Price:
    """In euros."""

    name: str
    amount: float
`,
	"tests/test_cart.py": `from shop.cart import Cart
from shop.prices import Price


def test_total() -> None:
    cart = Cart([Price("plum", 0.1), Price("pear", 0.2)])
    assert cart.total() == 0.3
`,
	"README.md": "# shop\n\nA small shop.\n",
};

const FOUND = `The sum is made of **binary fractions**: \`0.1 + 0.2\` is \`0.30000000000000004\`, so \`total\` is off by a cent as soon as tax rounds it up.

Money is better counted in \`Decimal\`:

\`\`\`python
>>> Decimal("0.1") + Decimal("0.2")
Decimal('0.3')
\`\`\`

I change \`shop/cart.py\` first; the prices follow.`;

const TOTAL = {
	name: "edit_file",
	arguments: {
		path: "shop/cart.py",
		old: `    def total(self) -> float:
        return sum(item.amount for item in self.items)`,
		new: `    def total(self) -> Decimal:
        return sum((item.amount for item in self.items), Decimal(0))`,
	},
};

const TAX = {
	name: "edit_file",
	arguments: {
		path: "shop/cart.py",
		old: `    def with_tax(self, rate: float) -> float:
        return self.total() * (1 + rate)`,
		new: `    def with_tax(self, rate: Decimal) -> Decimal:
        return (self.total() * (1 + rate)).quantize(Decimal("0.01"))`,
	},
};

const IMPORT = {
	name: "edit_file",
	arguments: {
		path: "shop/cart.py",
		old: "from dataclasses import dataclass, field\n",
		new: "from dataclasses import dataclass, field\nfrom decimal import Decimal\n",
	},
};

const DONE = `Totals are exact now, and rounding happens in **one place**:

- \`total\` adds \`Decimal\` amounts.
- \`with_tax\` rounds to the cent.

\`Price.amount\` still says \`float\`; shall I change that, too?`;

const THEMES = {
	"chat-light": "Light Modern",
	"chat-dark": "Dark Modern",
	"chat-high-contrast": "Default High Contrast",
} as const;

/** The title of a window names its folder, which is meaningless here. */
const SETTINGS = { "window.commandCenter": false, "window.title": "shop", "workbench.layoutControl.enabled": false };

test("a conversation, its questions, its changes and the sessions can be looked at in every kind of theme", async () => {
	await using workbench = await Workbench.open(FILES, { ...SETTINGS, "workbench.colorTheme": THEMES["chat-light"] });
	const { chat, conversation, model, page } = workbench;
	await frame(workbench);
	await workbench.openChat();
	await widen(workbench, 470);
	for (const [prompt, text] of [
		["Write a README that says how to run the tests", "It says so now."],
		["Why is Price frozen?", "So that a price in a cart cannot change behind the cart's back."],
		["Add a discount for ten and more of a kind", "There is a discount now."],
	] as const) {
		await model.script({ text });
		await workbench.prompt(prompt);
		await conversation.getByText(text).waitFor();
		await chat.getByTitle("New session", { exact: true }).click();
		await chat.getByRole("heading", { name: "What shall we do?" }).waitFor();
	}
	await chat.getByRole("button", { name: /^Model/ }).click();
	await page.keyboard.type("openai/gpt-5");
	await chat.getByRole("option", { name: "openai/gpt-5", exact: true }).first().click();
	await model.script(
		{
			thinking: "Floats, probably.",
			text: "I look at how totals are made.",
			calls: ["shop/cart.py", "shop/prices.py", "tests/test_cart.py"].map((path) => ({
				name: "read_file",
				arguments: { path },
			})),
			usage: [9_400, 210],
		},
		{ text: FOUND, calls: [TOTAL], usage: [11_800, 420] },
		{ calls: [TAX, IMPORT], usage: [12_300, 310] },
		{ text: DONE, usage: [12_600, 140] },
	);
	await workbench.openFile("cart.py");
	await workbench.prompt("The total of some carts is off by a cent. Find out why, and fix it.");
	const allow = chat.getByRole("button", { name: "Allow once" });
	await allow.waitFor();
	await picture(workbench, "permission");
	await chat.getByRole("button", { name: "Allow for this session" }).click();
	await conversation.getByText("shall I change that, too?").waitFor();
	const bar = chat.getByRole("region", { name: "Changes to review" });
	await bar.getByText("changes in 1 file").waitFor();
	await page.locator(".codelens-decoration").filter({ hasText: "Change 1 of 3" }).waitFor();
	await picture(workbench, "review");

	await conversation.press("Home");
	await conversation.getByText("The total of some carts").waitFor();
	await chat.getByRole("textbox", { name: "Prompt" }).focus();
	for (const [name, theme] of Object.entries(THEMES)) {
		await workbench.set({ ...SETTINGS, "workbench.colorTheme": theme });
		await chat.locator(`body[data-vscode-theme-id="${theme}"]`).waitFor();
		await picture(workbench, name);
	}
	await workbench.set({ ...SETTINGS, "workbench.colorTheme": THEMES["chat-light"] });
	await chat.locator(`body[data-vscode-theme-id="${THEMES["chat-light"]}"]`).waitFor();
	await widen(workbench, 225);
	await conversation.press("End");
	await chat.getByRole("textbox", { name: "Prompt" }).focus();
	await bar.waitFor();
	await picture(workbench, "chat-narrow");

	await widen(workbench, 430);
	await chat.getByRole("button", { name: "Sessions" }).click();
	await chat.getByText("Why is Price frozen?").first().waitFor();
	await picture(workbench, "sessions");
});

test("what stands in the chat before there is a model can be looked at", async () => {
	await using workbench = await Workbench.open(FILES, {
		...SETTINGS,
		"workbench.colorTheme": THEMES["chat-light"],
		"pygent.server.env": { PYGENT_MODEL: "", OPENAI_API_KEY: "" },
	});
	await frame(workbench);
	await workbench.openFile("cart.py");
	await workbench.command("pygent: Open Chat");
	await workbench.chat.getByRole("region", { name: "Set up a model" }).waitFor();
	await widen(workbench, 470);
	await picture(workbench, "setup");
});

/** A page shows pictures at half their size: the explorer makes way for the code. */
async function frame(workbench: Workbench): Promise<void> {
	await workbench.page.setViewportSize({ width: 1280, height: 800 });
	await workbench.command("View: Toggle Primary Side Bar Visibility");
	await workbench.page.locator(".part.sidebar").waitFor({ state: "hidden" });
}

/** Resizes the side bar by its border. */
async function widen({ page }: Workbench, width: number): Promise<void> {
	const { x, width: now } = (await page.locator(".part.auxiliarybar").boundingBox()) ?? { x: 0, width: 0 };
	await page.mouse.move(x - 2, 400);
	await page.mouse.down();
	await page.mouse.move(x + now - width - 2, 400, { steps: 4 });
	await page.mouse.up();
}

async function picture({ page }: Workbench, name: string): Promise<void> {
	if (process.env["PYGENT_SCREENSHOTS"] === undefined) return;
	await page.mouse.move(640, 799); // nothing is pointed at
	await mkdir(IMAGES, { recursive: true });
	await page.screenshot({ path: join(IMAGES, `${name}.png`), animations: "disabled", caret: "hide" });
}

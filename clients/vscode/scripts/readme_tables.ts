/** The tables of the README that are made from the manifest, so that they say what there is. */

/** As much of package.json as the tables show. */
export interface DocumentedManifest {
	readonly contributes: {
		readonly commands: readonly { readonly command: string; readonly title: string; readonly category: string }[];
		readonly keybindings: readonly { readonly command: string; readonly key: string; readonly mac?: string }[];
		readonly configuration: readonly {
			readonly title: string;
			readonly properties: Readonly<Record<string, DocumentedSetting>>;
		}[];
	};
}

interface DocumentedSetting {
	readonly default: unknown;
	readonly markdownDescription: string;
}

/** Returns the README with regenerated tables. Raises if it lacks the markers of one. */
export function withTables(readme: string, manifest: DocumentedManifest): string {
	const commands = filled(readme, "commands", commandsTable(manifest));
	return filled(commands, "settings", settingsTable(manifest));
}

function filled(readme: string, name: string, table: string): string {
	const [begin, end] = [`<!-- ${name} -->\n`, `<!-- /${name} -->`];
	const from = readme.indexOf(begin);
	const to = readme.indexOf(end);
	if (from === -1 || to < from) throw new Error(`README.md has no ${begin.trim()} … ${end} for its table of ${name}`);
	return `${readme.slice(0, from + begin.length)}${table}${readme.slice(to)}`;
}

function commandsTable({ contributes: { commands, keybindings } }: DocumentedManifest): string {
	const rows = commands.map(({ command, title, category }) => {
		const keys = keybindings.filter((each) => each.command === command).map(keysOf);
		return [`${category}: ${title}`, keys.join(", "), `\`${command}\``];
	});
	return table(["in the palette", "keys", "name"], rows);
}

function keysOf({ key, mac }: { readonly key: string; readonly mac?: string }): string {
	return mac === undefined ? `\`${spelled(key)}\`` : `\`${spelled(key)}\` (macOS: \`${spelled(mac)}\`)`;
}

/** `ctrl+alt+p` as keyboards have it: `Ctrl+Alt+P`. */
function spelled(key: string): string {
	return key.replaceAll(/[^+]+/g, (name) => name.charAt(0).toUpperCase() + name.slice(1));
}

function settingsTable({ contributes: { configuration } }: DocumentedManifest): string {
	const rows = configuration
		.flatMap(({ properties }) => Object.entries(properties))
		.map(([name, { default: value, markdownDescription }]) => [
			`\`${name}\``,
			`\`${JSON.stringify(value)}\``,
			firstSentence(markdownDescription),
		]);
	return table(["setting", "default", ""], rows);
}

/** In characters; what a longer sentence has behind a colon is left out. */
const MAX_DESCRIPTION = 130;

/** What it is; the editor's settings show all that is to be said. A dot or a colon within code ends nothing. */
function firstSentence(text: string): string {
	const [sentence = text] = /^(?:`[^`]*`|[^`.]|\.(?! ))*/.exec(text) ?? [];
	const [beginning = sentence] = /^(?:`[^`]*`|[^`:]|:(?! ))*/.exec(sentence) ?? [];
	return `${(sentence.length > MAX_DESCRIPTION ? beginning : sentence).replace(/\.$/, "")}.`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
	const all = [head, head.map(() => "---"), ...rows];
	return all.map((cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |\n`).join("");
}

/** What the bundles owe to others: the packages whose code is in them, with their licences. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Metafile } from "esbuild";

/** A package whose code or files are in a bundle. */
export interface BundledPackage {
	readonly name: string;
	readonly version: string;
	/** The SPDX expression that the package gives of itself. */
	readonly license: string;
	/** The licence files, whole, in the order of their names. */
	readonly texts: readonly string[];
}

/** The folders of packages of which at least a byte is in an output: what was shaken off owes nothing. */
export function packageFolders(metafiles: readonly Metafile[]): readonly string[] {
	const inputs = metafiles
		.flatMap(({ outputs }) => Object.values(outputs))
		.flatMap(({ inputs }) => Object.entries(inputs));
	const folders = inputs.flatMap(([path, { bytesInOutput }]) => {
		const folder = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0];
		return folder === undefined || bytesInOutput === 0 ? [] : [folder];
	});
	return [...new Set(folders)].sort();
}

/** Reads the licence of a package. Throws if the package has none: then it must not be redistributed. */
export function bundledPackage(root: string, folder: string): BundledPackage {
	const manifest = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as {
		readonly name: string;
		readonly version: string;
		readonly license?: string;
	};
	const files = globSync("{LICEN[CS]E,licen[cs]e,License,NOTICE,COPYING}*", { cwd: join(root, folder) }).sort();
	if (manifest.license === undefined || files.length === 0) {
		throw new Error(
			`${manifest.name} ${manifest.version} has no ${files.length === 0 ? "licence file" : "licence in package.json"}: ` +
				"find out its licence, or do without it",
		);
	}
	const texts = [...new Set(files.map((file) => readFileSync(join(root, folder, file), "utf8").trim()))];
	return { name: manifest.name, version: manifest.version, license: manifest.license, texts };
}

/** The text of NOTICE. */
export function noticeText(packages: readonly BundledPackage[]): string {
	const sections = packages.map(({ name, version, license, texts }) =>
		[`${name} ${version} (${license})`, ...texts].join("\n\n"),
	);
	const rule = `\n\n${"-".repeat(80)}\n\n`;
	return `${["This extension contains code and files of these packages, under their licences.", ...sections].join(rule)}\n`;
}

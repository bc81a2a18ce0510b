/** The README as it is in the archive, where the repository around it is missing. */

export interface ShippedReadme {
	readonly text: string;
	/** Pictures in `images/`: the name there, and the path from this client's folder. */
	readonly images: ReadonlyMap<string, string>;
}

const LINK = /(!?)\[([^\]]*)\]\((\.\.\/[^)]+)\)/g;

/** Pictures come along; of a link to a page of the repository the words stay. */
export function shippedReadme(readme: string): ShippedReadme {
	const images = new Map<string, string>();
	const text = readme.replaceAll(LINK, (_, bang: string, words: string, path: string) => {
		if (bang === "") return words;
		const name = path.slice(path.lastIndexOf("/") + 1);
		images.set(name, path);
		return `![${words}](images/${name})`;
	});
	return { text, images };
}

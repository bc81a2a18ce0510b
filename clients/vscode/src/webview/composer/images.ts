/** Pictures from the clipboard, or dropped: what can be attached, and why something cannot. */

import type { Attachment } from "../../bridge/messages.ts";
import { checkImageSize, MB } from "../../conversation/images.ts";

const TYPES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/**
 * Limit for all images of one prompt, in characters of base64: a draft is stored as a whole, and sent in one message.
 */
const MAX_ALL_CHARS = 20 * MB;

/** Returns the image as an attachment. Raises, with a message for the user, if models do not accept the file. */
export async function imageAttachment(file: File, before: readonly Attachment[]): Promise<Attachment> {
	const name = file.name === "" ? "The image" : `“${file.name}”`;
	if (!TYPES.has(file.type)) {
		throw new Error(`${name} is ${file.type || "of an unknown type"}. Attach a PNG, JPEG, GIF or WebP image.`);
	}
	checkImageSize(name, file.size);
	const data = await base64Of(file);
	if (data.length + before.reduce((sum, each) => sum + sizeOf(each), 0) > MAX_ALL_CHARS) {
		throw new Error(`${name} exceeds the size limit of all attached images. Send those first.`);
	}
	return {
		id: crypto.randomUUID(),
		label: file.name === "" ? "image" : file.name,
		kind: "image",
		block: { type: "image", mimeType: file.type, data },
	};
}

/** Returns the address for an `img` element; null if only the file's address is known, which a view may not read. */
export function pictureOf({ block }: Attachment): string | null {
	if (block.type !== "image" || typeof block.data !== "string" || !TYPES.has(block.mimeType)) return null;
	return `data:${block.mimeType};base64,${block.data}`;
}

function sizeOf({ block }: Attachment): number {
	return block.type === "image" ? (block.data?.length ?? 0) : 0;
}

function base64Of(file: File): Promise<string> {
	return new Promise((resolve, reject) => {
		const reader = new FileReader();
		reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ""));
		reader.onerror = () => reject(new Error(`“${file.name}” could not be read: try again, or attach it as a file.`));
		reader.readAsDataURL(file);
	});
}

/** The addresses of files and folders in what was dropped: the editor's own form first, which has all of them. */
export function droppedUris(data: DataTransfer): readonly string[] {
	const lists = ["application/vnd.code.uri-list", "text/uri-list"].map((type) => data.getData(type));
	const list = lists.find((each) => each.trim() !== "") ?? "";
	return list
		.split(/\r?\n/)
		.map((line) => line.trim())
		.filter((line) => line !== "" && !line.startsWith("#"));
}

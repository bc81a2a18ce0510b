/** Pictures that a prompt may hold, however they come to it. */

export const MB = 1024 * 1024;

/** Most providers refuse larger ones. */
export const MAX_IMAGE_BYTES = 5 * MB;

/** Checks the size of an image in bytes. Raises, with a message for the user, if it is too large. */
export function checkImageSize(name: string, size: number): void {
	if (size > MAX_IMAGE_BYTES) {
		throw new Error(`${name} has ${(size / MB).toFixed(1)} MB: attach an image of at most 5 MB.`);
	}
}

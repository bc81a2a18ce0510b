/** Why something failed, in words. */

/** What was thrown, whatever it is. */
export function reasonOf(error: unknown): string {
	return error instanceof Error ? error.message : String(error);
}

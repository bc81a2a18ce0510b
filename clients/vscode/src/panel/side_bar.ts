/** In which side bar the chat stands. An editor shows one of the two views, by the condition that the manifest gives it. */

const VIEWS = { secondary: "pygent.chat", primary: "pygent.chatInActivityBar" } as const;

/** All that are in the manifest. */
export const VIEW_IDS = Object.values(VIEWS);

/** Extensions have a place in the secondary side bar since 1.106; what they name there before falls into the explorer. */
export function hasSecondarySideBar(version: string): boolean {
	const [major = 0, minor = 0] = version.split(".").map(Number);
	return major > 1 || (major === 1 && minor >= 106);
}

/** The view that an editor of that version shows. */
export function viewOf(version: string): string {
	return hasSecondarySideBar(version) ? VIEWS.secondary : VIEWS.primary;
}

/** Moments as a person speaks of them. */

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `now`, `5 min ago`, `3 h ago`, `yesterday`, `4 days ago`, then the date. `at` is RFC 3339. */
export function agoOf(at: string, now: number): string {
	const moment = Date.parse(at);
	if (Number.isNaN(moment)) return "";
	const passed = Math.max(0, now - moment);
	if (passed < MINUTE) return "now";
	if (passed < HOUR) return `${Math.floor(passed / MINUTE)} min ago`;
	if (passed < DAY) return `${Math.floor(passed / HOUR)} h ago`;
	if (passed < 2 * DAY) return "yesterday";
	if (passed < 7 * DAY) return `${Math.floor(passed / DAY)} days ago`;
	return new Date(moment).toLocaleDateString(undefined, { year: "numeric", month: "short", day: "numeric" });
}

/** The whole of it, for who wants to know exactly. */
export function momentOf(at: string): string {
	const moment = new Date(at);
	return Number.isNaN(moment.getTime()) ? "" : moment.toLocaleString();
}

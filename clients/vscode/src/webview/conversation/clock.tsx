/** Time that goes on. */

import { type ReactNode, useEffect, useState } from "react";
import { durationOf } from "../../conversation/amounts.ts";
import { between } from "./labels.ts";

/** The moment, anew each second while `ticks`. */
export function useNow(ticks: boolean): number {
	const [now, setNow] = useState(() => Date.now());
	useEffect(() => {
		if (!ticks) return;
		setNow(Date.now());
		const timer = setInterval(() => setNow(Date.now()), 1000);
		return () => clearInterval(timer);
	}, [ticks]);
	return now;
}

/** How long ago that moment (RFC 3339) was, in whole seconds. */
export function Clock({ since }: { readonly since: string }): ReactNode {
	const elapsed = Math.floor(between(since, useNow(true)) / 1000) * 1000;
	return elapsed < 1000 ? null : <span className="clock">{durationOf(elapsed).replace(".0", "")}</span>;
}

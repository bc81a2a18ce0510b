/** Line in place of undone turns. */

import type { ReactElement } from "react";
import { Icon } from "../../chrome/icon.tsx";
import { useFold } from "../context.tsx";
import { many } from "../labels.ts";

export interface RevertedTurnsProps {
	readonly fold: string;
	readonly turns: number;
}

export function RevertedTurns({ fold, turns }: RevertedTurnsProps): ReactElement {
	const [open, setOpen] = useFold(fold, false);
	return (
		<p className="line">
			<button type="button" className="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
				<Icon name={open ? "chevron-down" : "chevron-right"} />
				<Icon name="discard" />
				{many(turns, "turn")} undone
			</button>
		</p>
	);
}

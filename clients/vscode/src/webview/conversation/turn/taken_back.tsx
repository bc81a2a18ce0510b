/** Where turns were that the user took back. */

import { createContext, type ReactElement, useContext } from "react";
import { Icon } from "../../chrome/icon.tsx";
import { many } from "../words.ts";

/** Folds and unfolds what stands behind such a line, by its key. */
export const ToggleTakenBack = createContext<(key: string) => void>(() => undefined);

export interface TakenBackParts {
	readonly fold: string;
	readonly turns: number;
	readonly open: boolean;
}

export function TakenBack({ fold, turns, open }: TakenBackParts): ReactElement {
	const toggle = useContext(ToggleTakenBack);
	return (
		<p className="line">
			<button type="button" className="fold" aria-expanded={open} onClick={() => toggle(fold)}>
				<Icon name={open ? "chevron-down" : "chevron-right"} />
				<Icon name="discard" />
				{many(turns, "turn")} {turns === 1 ? "was" : "were"} taken back
			</button>
		</p>
	);
}

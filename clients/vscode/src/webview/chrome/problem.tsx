/** What went wrong with what the user asked for last, until it is closed or something goes right. */

import type { ReactElement } from "react";
import { type Store, useView } from "../store.ts";
import { Icon, IconButton } from "./icon.tsx";

export function Problem({ store }: { readonly store: Store }): ReactElement {
	const problem = useView(store, (view) => view.problem);
	return (
		<div role="alert" className="app-problem-place">
			{problem !== null && (
				<div className="app-problem">
					<Icon name="error" />
					<span>{problem}</span>
					<IconButton icon="close" label="Close this message" onClick={() => store.update({ problem: null })} />
				</div>
			)}
		</div>
	);
}

/** An edit was made, and waits to be accepted or rejected hunk by hunk, in the editor. */

import type { ReactElement } from "react";
import type { ReviewRequest } from "../../../protocol/protocol.ts";
import { Icon } from "../../chrome/icon.tsx";
import { useConversationContext } from "../context.tsx";
import { many } from "../labels.ts";
import { useFocusGoesOn } from "./focus.ts";

export interface ReviewLineProps {
	readonly id: string;
	readonly request: ReviewRequest;
}

export function ReviewLine({ id, request }: ReviewLineProps): ReactElement {
	const { act } = useConversationContext();
	const card = useFocusGoesOn();
	const hunks = request.files.reduce((sum, file) => sum + file.hunks.length, 0);
	const where = request.files.length > 1 ? ` in ${many(request.files.length, "file")}` : "";
	const decide = (accept: boolean) => () => void act("decideAll", { accept, uri: null });
	return (
		<div className="ask review" role="group" aria-label="Review" data-ask={id} tabIndex={-1} ref={card}>
			<p className="ask-title">
				<Icon name="diff-multiple" /> Waiting for your review of {many(hunks, "hunk")}
				{where}
			</p>
			<div className="choices">
				<button type="button" className="choice first" onClick={() => void act("reviewAll", null)}>
					Review
				</button>
				<button type="button" className="choice" onClick={decide(true)}>
					Accept all
				</button>
				<button type="button" className="choice" onClick={decide(false)}>
					Reject all
				</button>
			</div>
		</div>
	);
}

/** What cannot be drawn takes nothing else with it. */

import { Component, type ReactNode } from "react";
import { reasonOf } from "../../../conversation/error_text.ts";
import { Icon } from "../../chrome/icon.tsx";
import { visible } from "../markdown/invisible_characters.ts";

interface Props {
	/** What is drawn: another value is tried anew. */
	readonly of: unknown;
	readonly children: ReactNode;
}

interface State {
	/** Why it cannot be drawn. */
	readonly reason: string | null;
}

export class RowErrorBoundary extends Component<Props, State> {
	override state: State = { reason: null };

	static getDerivedStateFromError(error: unknown): State {
		return { reason: reasonOf(error) };
	}

	override componentDidUpdate(before: Props): void {
		if (this.state.reason !== null && before.of !== this.props.of) this.setState({ reason: null });
	}

	override render(): ReactNode {
		const { reason } = this.state;
		if (reason === null) return this.props.children;
		return (
			<p className="line error">
				<Icon name="error" /> This part cannot be shown ({visible(reason)}). The session holds it all the same:
				“Export…” in the menu above shows it.
			</p>
		);
	}
}

/** Keeps what cannot be drawn from taking the rest of the view with it: what is written stays, and it can be tried again. */

import { Component, type ReactNode } from "react";
import { reasonOf } from "../conversation/error_text.ts";
import { Icon } from "./chrome/icon.tsx";
import type { Host } from "./host.ts";

interface Props {
	readonly host: Host;
	/** What it is that cannot be shown. */
	readonly what: string;
	readonly children: ReactNode;
}

interface State {
	readonly message: string | null;
}

export class ErrorBoundary extends Component<Props, State> {
	override readonly state: State = { message: null };

	static getDerivedStateFromError(error: unknown): State {
		return { message: reasonOf(error) };
	}

	override render(): ReactNode {
		const { message } = this.state;
		if (message === null) return this.props.children;
		return (
			<div className="daemon stopped" role="alert">
				<p className="failure-title">
					<Icon name="error" /> {this.props.what} could not be shown
				</p>
				<p className="failure-message">{message}</p>
				<p className="failure-message">Your text is kept, and the session continues.</p>
				<div className="choices">
					<button type="button" className="choice first" onClick={() => void this.#reload()}>
						Reload view
					</button>
					<button type="button" className="choice" onClick={() => void this.props.host.call("showLog", null)}>
						Show log
					</button>
				</div>
			</div>
		);
	}

	/** Everything anew from the extension host: what was shown before may be what cannot be. */
	async #reload(): Promise<void> {
		await this.props.host.call("ready", null);
		this.setState({ message: null });
	}
}

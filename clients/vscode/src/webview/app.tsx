/** The whole page of a chat view. */

import "./app.css";
import type { KeyboardEvent, ReactElement } from "react";
import type { AppProps } from "./app_props.ts";
import { BackgroundBar } from "./chrome/background_bar.tsx";
import { Header } from "./chrome/header.tsx";
import { ReviewBar } from "./chrome/review_bar.tsx";
import { Composer } from "./composer/composer.tsx";
import { ConversationView } from "./conversation/conversation.tsx";
import { ErrorBoundary } from "./error_boundary.tsx";
import { BackgroundPage } from "./pages/background_page.tsx";
import { CheckpointsPage } from "./pages/checkpoints_page.tsx";
import { SessionsPage } from "./pages/sessions_page.tsx";
import { SideAnswers } from "./side_answers/side_answers.tsx";
import { useView } from "./store.ts";

export function App(props: AppProps): ReactElement {
	const { store } = props;
	const page = useView(store, (view) => view.page);
	/** Goes back to the prompt from anywhere, or to the search. */
	const onKeyDown = (event: KeyboardEvent): void => {
		if ((event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key === "f" && page === "chat") {
			event.preventDefault();
			store.take({ type: "focus", on: "find" });
			return;
		}
		if (event.key !== "Escape" || event.defaultPrevented) return;
		store.update({ page: "chat" });
		store.take({ type: "focus", on: "prompt" });
	};
	return (
		<main className="app" aria-label="pygent chat" onKeyDown={onKeyDown}>
			<Header {...props} />
			<div className="stage">
				<div className="chat" inert={page !== "chat"}>
					<ErrorBoundary host={props.host} what="The conversation">
						<ConversationView {...props} />
					</ErrorBoundary>
					<SideAnswers {...props} />
					<BackgroundBar {...props} />
					<ReviewBar {...props} />
					<Composer {...props} />
				</div>
				{page === "sessions" && <SessionsPage {...props} />}
				{page === "checkpoints" && <CheckpointsPage {...props} />}
				{page === "background" && <BackgroundPage {...props} />}
			</div>
		</main>
	);
}

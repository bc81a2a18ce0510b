/** Answers of side questions, above the prompt: the user copies or closes them. The conversation does not contain them. */

import "./side_answers.css";
import { type ReactElement, useEffect, useRef } from "react";
import type { SideAnswer } from "../../bridge/messages.ts";
import type { AppProps } from "../app_props.ts";
import { ask } from "../chrome/host_calls.ts";
import { IconButton } from "../chrome/icon.tsx";
import { visible } from "../conversation/markdown/invisible_characters.ts";
import { Markdown } from "../conversation/markdown/markdown.tsx";
import { useView } from "../store.ts";

export function SideAnswers(props: AppProps): ReactElement | null {
	const { store } = props;
	const sessionId = useView(store, ({ conversation }) => conversation.sessionId);
	const answers = useView(store, (view) => view.sideAnswers).filter((each) => each.sessionId === sessionId);
	if (answers.length === 0) return null;
	const close = ({ id }: SideAnswer): void => {
		void ask(props, "closeSideAnswer", { id });
		store.close(id);
		store.take({ type: "focus", on: "prompt" });
	};
	return (
		<div className="side-answers">
			{answers.map((each) => (
				<Card key={each.id} answer={each} onClose={() => close(each)} onCopy={() => void ask(props, "copy", each)} />
			))}
		</div>
	);
}

interface CardProps {
	readonly answer: SideAnswer;
	readonly onClose: () => void;
	readonly onCopy: () => void;
}

function Card({ answer, onClose, onCopy }: CardProps): ReactElement {
	const { question, text, state, problem } = answer;
	const card = useRef<HTMLElement>(null);
	useEffect(() => {
		card.current?.scrollIntoView({ block: "nearest" });
	}, []);
	const note = NOTES[state];
	return (
		<section
			className="side-answer"
			aria-label={`Side question: ${visible(question)}`}
			aria-busy={state === "answering"}
			ref={card}
		>
			<header className="side-answer-head">
				<span className="side-answer-question" title={question}>
					{visible(question)}
				</span>
				{text !== "" && <IconButton icon="copy" label="Copy the answer" onClick={onCopy} />}
				<IconButton
					icon="close"
					label={state === "answering" ? "Stop and close the side question" : "Close the side question"}
					onClick={onClose}
				/>
			</header>
			{/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, by the keyboard too */}
			<div className="side-answer-text" tabIndex={0} role="group" aria-label="Answer" aria-live="polite">
				{text !== "" && <Markdown text={text} growing={state === "answering"} />}
				{problem !== null && <p className="side-answer-problem">{visible(problem)}</p>}
			</div>
			<p className="side-answer-note">{note}</p>
		</section>
	);
}

const NOTES: Readonly<Record<SideAnswer["state"], string>> = {
	answering: "Answering beside the conversation…",
	done: "Not part of the conversation.",
	cancelled: "Stopped. Not part of the conversation.",
	failed: "Not answered.",
};

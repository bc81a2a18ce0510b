/** The model asks the user something. */

import { type KeyboardEvent, type ReactElement, useId, useRef, useState } from "react";
import type { QuestionRequest } from "../../../protocol/protocol.ts";
import { Icon } from "../../chrome/icon.tsx";
import { useConversationContext } from "../context.tsx";
import { visible } from "../markdown/invisible_characters.ts";
import { Markdown } from "../markdown/markdown.tsx";
import { SetupCard } from "../start/setup_card.tsx";
import { useFocusGoesOn } from "./focus.ts";
import { isDigit, Key } from "./permission.tsx";

export interface QuestionCardProps {
	readonly id: string;
	readonly request: QuestionRequest;
}

export function QuestionCard({ id, request }: QuestionCardProps): ReactElement {
	const { act } = useConversationContext();
	const [sent, setSent] = useState(false);
	const [text, setText] = useState("");
	const field = useRef<HTMLTextAreaElement>(null);
	const card = useFocusGoesOn();
	const title = useId();

	const answer = async (choice: string | null): Promise<void> => {
		const words = text.trim();
		if (sent || (choice === null && words === "")) return;
		card.current?.focus(); // what is disabled would lose it
		setSent(true);
		const said = words === "" ? {} : { text: words };
		const { done } = await act("answerQuestion", { id, ...(choice === null ? {} : { choice }), ...said });
		if (!done) setSent(false);
	};
	const pressed = (event: KeyboardEvent): void => {
		if (event.target === field.current) {
			if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
			void answer(null);
		} else {
			const choice = isDigit(event) ? request.choices[Number(event.key) - 1] : undefined;
			if (choice === undefined) return;
			void answer(choice.title);
		}
		event.preventDefault();
		event.stopPropagation();
	};
	return (
		<div
			className="ask question"
			role="group"
			aria-labelledby={title}
			data-ask={id}
			tabIndex={-1}
			ref={card}
			onKeyDown={pressed}
		>
			{request.setup === true ? (
				<Setup request={request} title={title} disabled={sent} onChoose={answer} />
			) : (
				<>
					<div className="ask-title" id={title}>
						<Icon name="comment-discussion" />
						<Markdown text={request.question} growing={false} />
					</div>
					<Choices request={request} disabled={sent} onChoose={answer} />
				</>
			)}
			{request.allowText && (
				<div className="own-words">
					<textarea
						ref={field}
						rows={2}
						value={text}
						disabled={sent}
						aria-label="Your own words"
						placeholder={request.choices.length > 0 ? "Or write your own answer" : "Your answer"}
						onChange={({ target }) => setText(target.value)}
					/>
					<button
						type="button"
						className="choice first"
						disabled={sent || text.trim() === ""}
						onClick={() => void answer(null)}
					>
						Answer
					</button>
				</div>
			)}
		</div>
	);
}

/** Request to set up a model. The extension host answers it once a model is set up; here the user can only decline. */
function Setup({ request, title, disabled, onChoose }: ChoicesProps & { readonly title: string }): ReactElement {
	const without = request.choices[1]?.title ?? "";
	return (
		<>
			<div id={title}>
				<SetupCard isAwaited={true} />
			</div>
			<div className="choices">
				<button type="button" className="choice" disabled={disabled} onClick={() => void onChoose(without)}>
					{visible(without)}
				</button>
			</div>
		</>
	);
}

interface ChoicesProps {
	readonly request: QuestionRequest;
	readonly disabled: boolean;
	readonly onChoose: (choice: string) => Promise<void>;
}

function Choices({ request, disabled, onChoose }: ChoicesProps): ReactElement {
	return (
		<div className="choices tall">
			{request.choices.map(({ title, description }, index) => (
				<button
					key={title}
					type="button"
					className="choice"
					disabled={disabled}
					aria-keyshortcuts={index < 9 ? String(index + 1) : undefined}
					onClick={() => void onChoose(title)}
				>
					{index < 9 && <Key name={String(index + 1)} />}
					<span className="choice-words">
						{visible(title)}
						{description !== undefined && <span className="description">{visible(description)}</span>}
					</span>
				</button>
			))}
		</div>
	);
}

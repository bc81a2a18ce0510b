/** Something is about to happen, and the user is asked. */

import { type KeyboardEvent, type ReactElement, useId, useRef, useState } from "react";
import type { PermissionOption, PermissionRequest, Risk } from "../../../protocol/protocol.ts";
import { Icon } from "../../chrome/icon.tsx";
import { visible } from "../markdown/visible.ts";
import { useScene } from "../scene.tsx";
import { FileDiff } from "../tools/diff.tsx";
import { useFocusGoesOn } from "./focus.ts";

export interface PermissionCardParts {
	readonly id: string;
	readonly request: PermissionRequest;
	/** It stands in the card of its call, which says already what it is about. */
	readonly inCard: boolean;
}

const RISK: Readonly<Record<Risk, { readonly icon: string; readonly words: string }>> = {
	low: { icon: "info", words: "Low risk" },
	medium: { icon: "warning", words: "Medium risk" },
	high: { icon: "flame", words: "High risk" },
};

export function PermissionCard({ id, request, inCard }: PermissionCardParts): ReactElement {
	const { act } = useScene();
	const [chosen, setChosen] = useState<string | null>(null);
	const [feedback, setFeedback] = useState("");
	const field = useRef<HTMLInputElement>(null);
	const card = useFocusGoesOn();
	const title = useId();
	const reject = request.options.find(({ kind }) => isReject(kind)) ?? null;

	const choose = async (option: PermissionOption | null | undefined): Promise<void> => {
		if (option === null || option === undefined || chosen !== null) return;
		card.current?.focus(); // a button that is disabled would lose it
		setChosen(option.optionId);
		const words = isReject(option.kind) && feedback.trim() !== "" ? { feedback: feedback.trim() } : {};
		const { done } = await act("answerPermission", { id, optionId: option.optionId, ...words });
		if (!done) setChosen(null);
	};
	const pressed = (event: KeyboardEvent): void => {
		const isWriting = event.target === field.current;
		if (event.key === "Escape") {
			if (isWriting || field.current === null) void choose(reject);
			else field.current.focus();
		} else if (isWriting && event.key === "Enter" && !event.nativeEvent.isComposing) void choose(reject);
		else if (!isWriting && isDigit(event)) void choose(request.options[Number(event.key) - 1]);
		else return;
		event.preventDefault();
		event.stopPropagation();
	};
	return (
		<div
			className={`ask permission ${request.risk}`}
			role="group"
			aria-labelledby={title}
			data-ask={id}
			tabIndex={-1}
			ref={card}
			onKeyDown={pressed}
		>
			<Question request={request} titleId={title} inCard={inCard} />
			<Options request={request} chosen={chosen} onChoose={choose} />
			{reject !== null && (
				<input
					ref={field}
					className="feedback"
					value={feedback}
					disabled={chosen !== null}
					aria-label="What to do instead. Enter rejects with these words"
					placeholder="Esc: say what to do instead"
					onChange={({ target }) => setFeedback(target.value)}
				/>
			)}
		</div>
	);
}

interface QuestionParts {
	readonly request: PermissionRequest;
	readonly titleId: string;
	readonly inCard: boolean;
}

function Question({ request, titleId, inCard }: QuestionParts): ReactElement {
	const { title, message, risk, diff, source, toolCall } = request;
	const line = message.includes("\n") ? "" : message;
	const repeats = message.includes(title);
	// A change is told by its diff, and what would be done by the message: once is enough.
	const heading = repeats && (diff ?? []).length > 0 && line !== "" ? line : title;
	const isSaid = repeats && heading === title && message !== title;
	return (
		<>
			<p className="ask-title" id={titleId}>
				<span className={`risk ${risk}`}>
					<Icon name={RISK[risk].icon} /> {RISK[risk].words}
				</span>{" "}
				<span className={isSaid ? "for-readers" : undefined}>{visible(heading)}</span>
				{source !== "" && <span className="badge">{visible(source)}</span>}
			</p>
			{message !== "" && message !== heading && <pre className="ask-message">{visible(message)}</pre>}
			{(diff ?? []).map(({ uri, patch }) => (
				<FileDiff
					key={uri}
					foldKey={`ask ${request.permissionId} ${uri}`}
					toolId={toolCall.toolId}
					uri={uri}
					kind={null}
					patch={patch}
					folded={(diff ?? []).length > 3}
				/>
			))}
			{!inCard && message === "" && <p className="faint">{visible(toolCall.title)}</p>}
		</>
	);
}

interface OptionsParts {
	readonly request: PermissionRequest;
	readonly chosen: string | null;
	readonly onChoose: (option: PermissionOption) => Promise<void>;
}

function Options({ request: { options }, chosen, onChoose }: OptionsParts): ReactElement {
	return (
		<>
			<div className="choices">
				{options.map((option, index) => (
					<button
						key={option.optionId}
						type="button"
						className={`choice${index === 0 ? " first" : ""}${chosen === option.optionId ? " chosen" : ""}`}
						disabled={chosen !== null}
						aria-keyshortcuts={index < 9 ? String(index + 1) : undefined}
						onClick={() => void onChoose(option)}
					>
						<Key index={index} />
						{visible(option.title)}
						{chosen === option.optionId && <Icon name="loading" spin />}
					</button>
				))}
			</div>
			{kept(options).map(({ titles, rules }) => (
				<p key={titles.join()} className="rule">
					{visible(titles.map((title) => `“${title}”`).join(", "))} {titles.length === 1 ? "keeps" : "keep"} the{" "}
					{rules.length === 1 ? "rule" : "rules"}{" "}
					{rules.map((rule) => (
						<code key={rule}>{visible(rule)}</code>
					))}
				</p>
			))}
		</>
	);
}

function rulesOf({ rule, rules }: PermissionOption): readonly string[] {
	return rules ?? (rule === undefined ? [] : [rule]);
}

interface Kept {
	readonly titles: readonly string[];
	readonly rules: readonly string[];
}

/** Which rules are kept by which choices: the same ones are said once. */
function kept(options: readonly PermissionOption[]): readonly Kept[] {
	const byRules = new Map<string, Kept>();
	for (const option of options) {
		const rules = rulesOf(option);
		const titles = byRules.get(rules.join("\n"))?.titles ?? [];
		if (rules.length > 0) byRules.set(rules.join("\n"), { titles: [...titles, option.title], rules });
	}
	return [...byRules.values()];
}

function isReject(kind: PermissionOption["kind"]): boolean {
	return kind === "reject_once" || kind === "reject_always";
}

export function isDigit({ key, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
	return /^[1-9]$/.test(key) && !ctrlKey && !metaKey && !altKey;
}

/** The key that chooses it, for the eye: a screen reader is told by `aria-keyshortcuts`. */
export function Key({ index }: { readonly index: number }): ReactElement | null {
	return index < 9 ? (
		<span className="key" aria-hidden="true">
			{index + 1}
		</span>
	) : null;
}

/** Something is about to happen, and the user is asked. */

import { type KeyboardEvent, type ReactElement, useId, useRef, useState } from "react";
import type { PermissionOption, PermissionRequest, Risk, RuleSuggestion } from "../../../protocol/protocol.ts";
import { Icon } from "../../chrome/icon.tsx";
import { useConversationContext } from "../context.tsx";
import { visible } from "../markdown/invisible_characters.ts";
import { FileDiff } from "../tools/diff.tsx";
import { useFocusGoesOn } from "./focus.ts";

export interface PermissionCardProps {
	readonly id: string;
	readonly request: PermissionRequest;
	/** Whether the request is shown in the card of its call, which says what it is about. */
	readonly inCard: boolean;
}

const RISK: Readonly<Record<Risk, { readonly icon: string; readonly words: string }>> = {
	low: { icon: "info", words: "Low risk" },
	medium: { icon: "warning", words: "Medium risk" },
	high: { icon: "flame", words: "High risk" },
};

export function PermissionCard({ id, request, inCard }: PermissionCardProps): ReactElement {
	const { act } = useConversationContext();
	const [chosen, setChosen] = useState<string | null>(null);
	const [scope, setScope] = useState(0);
	const [feedback, setFeedback] = useState("");
	const field = useRef<HTMLInputElement>(null);
	const card = useFocusGoesOn();
	const title = useId();
	const reject = request.options.find(({ kind }) => isReject(kind)) ?? null;
	const suggestions = request.ruleSuggestions ?? []; // older daemons send none
	const wider = suggestions[scope - 1] ?? null;
	const suggested = wider ?? suggestions[0] ?? null;
	const nextScope = (): void => setScope((scope + 1) % (suggestions.length + 1));

	const choose = async (option: PermissionOption | null | undefined): Promise<void> => {
		if (option === null || option === undefined || chosen !== null) return;
		card.current?.focus(); // a button that is disabled would lose it
		setChosen(option.optionId);
		const words = isReject(option.kind) && feedback.trim() !== "" ? { feedback: feedback.trim() } : {};
		const rules = wider !== null && Object.hasOwn(wider.appliesTo, option.optionId) ? { rules: [wider.rule] } : {};
		const { done } = await act("answerPermission", { id, optionId: option.optionId, ...words, ...rules });
		if (!done) setChosen(null);
	};
	/** One that is held down has led here. */
	const escaped = (isWriting: boolean, isHeld: boolean): void => {
		if (isHeld) return;
		if (isWriting || field.current === null) void choose(reject);
		else field.current.focus();
	};
	const pressed = (event: KeyboardEvent): void => {
		const isWriting = event.target === field.current;
		if (event.key === "Escape") escaped(isWriting, event.repeat);
		else if (isWriting && event.key === "Enter" && !event.nativeEvent.isComposing) void choose(reject);
		else if (isWriting || event.ctrlKey || event.metaKey || event.altKey) return;
		else if (event.key === OTHER_RULE && suggested !== null) nextScope();
		else if (optionOf(request, event.key) !== null) void choose(optionOf(request, event.key));
		else return;
		event.preventDefault();
		event.stopPropagation();
	};
	return (
		<div
			className={`ask permission ${severityOf(request)}`}
			role="group"
			aria-labelledby={title}
			data-ask={id}
			tabIndex={-1}
			ref={card}
			onKeyDown={pressed}
		>
			<Question request={request} titleId={title} inCard={inCard} />
			<Options request={request} wider={wider} chosen={chosen} onChoose={choose} />
			{suggested !== null && (
				<Scope suggested={suggested} isOn={wider !== null} disabled={chosen !== null} onChange={nextScope} />
			)}
			{reject !== null && (
				<input
					ref={field}
					className="feedback"
					value={feedback}
					disabled={chosen !== null}
					aria-label="What to do instead (Enter rejects and sends this)"
					placeholder="Esc: say what to do instead"
					onChange={({ target }) => setFeedback(target.value)}
				/>
			)}
		</div>
	);
}

/** The letter that changes what the choices cover which store rules. */
const OTHER_RULE = "p";

/** The option that a key chooses, by its place or its letter. */
function optionOf({ options }: PermissionRequest, key: string): PermissionOption | null {
	return options.find((each, index) => each.key === key || String(index + 1) === key) ?? null;
}

interface ScopeProps {
	readonly suggested: RuleSuggestion;
	readonly isOn: boolean;
	readonly disabled: boolean;
	readonly onChange: () => void;
}

/** Whether the choices that store a rule cover a wider one. */
function Scope({ suggested, isOn, disabled, onChange }: ScopeProps): ReactElement {
	return (
		<button
			type="button"
			className="choice scope"
			aria-pressed={isOn}
			aria-keyshortcuts={OTHER_RULE}
			disabled={disabled}
			onClick={onChange}
		>
			<Key name={OTHER_RULE} /> {isOn ? "Covers" : "Cover"} <code>{visible(suggested.title)}</code>
		</button>
	);
}

/** How grave it looks; an older daemon knows only whether the tool asks. */
function severityOf({ severity, risk }: PermissionRequest): Risk {
	return severity ?? risk;
}

interface QuestionProps {
	readonly request: PermissionRequest;
	readonly titleId: string;
	readonly inCard: boolean;
}

function Question({ request, titleId, inCard }: QuestionProps): ReactElement {
	const { title, message, diff, source, toolCall, description, confinement } = request;
	const risk = severityOf(request);
	const hasDiff = (diff ?? []).length > 0;
	const line = message.includes("\n") ? "" : message;
	const repeats = message.includes(title);
	// A change is told by its diff, and what would be done by the message: once is enough.
	const heading = repeats && hasDiff && line !== "" ? line : title;
	const isSaid = repeats && !hasDiff;
	return (
		<>
			<p className="ask-title" id={titleId}>
				<span className={`risk ${risk}`}>
					<Icon name={RISK[risk].icon} /> {RISK[risk].words}
				</span>{" "}
				<span className={isSaid ? "for-readers" : undefined}>{visible(heading)}</span>
				{description && <span>{visible(description)}</span>}
				{source !== "" && <span className="badge">{visible(source)}</span>}
			</p>
			{message !== "" && (!hasDiff || message !== heading) && <pre className="ask-message">{visible(message)}</pre>}
			{(diff ?? []).map(({ uri, patch }) => (
				<FileDiff
					key={uri}
					foldKey={`ask ${request.permissionId} ${uri}`}
					toolId={toolCall.toolId}
					turnId={null}
					uri={uri}
					kind={null}
					patch={patch}
					folded={(diff ?? []).length > 3}
				/>
			))}
			{confinement && <Confinement words={confinement} />}
			{!inCard && message === "" && <p className="faint">{visible(toolCall.title)}</p>}
		</>
	);
}

function Confinement({ words }: { readonly words: string }): ReactElement {
	return (
		<p className="confinement">
			<Icon name={words.startsWith("sandboxed") ? "lock" : "unlock"} /> {visible(words)}
		</p>
	);
}

interface OptionsProps {
	readonly request: PermissionRequest;
	/** The rule that the user has chosen in place of those of the options. */
	readonly wider: RuleSuggestion | null;
	readonly chosen: string | null;
	readonly onChoose: (option: PermissionOption) => Promise<void>;
}

function Options({ request, wider, chosen, onChoose }: OptionsProps): ReactElement {
	const { options } = request;
	return (
		<>
			<div className="choices">
				{options.map((option, index) => (
					<button
						key={option.optionId}
						type="button"
						className={`choice${isProposed(request, option) ? " first" : ""}${chosen === option.optionId ? " chosen" : ""}`}
						disabled={chosen !== null}
						aria-keyshortcuts={`${index + 1} ${option.key ?? ""}`.trim()}
						onClick={() => void onChoose(option)}
					>
						<Key name={option.key ?? String(index + 1)} />
						{visible(option.title)}
						{chosen === option.optionId && <Icon name="loading" spin />}
					</button>
				))}
			</div>
			<div className="applies">
				Applies to:
				{covered(options, wider).map(({ keys, what }) => (
					<p key={what} className="rule">
						<span className="key">{keys.join(" ")}</span> {visible(what)}
					</p>
				))}
			</div>
		</>
	);
}

/** Whether it stands out: the first, and for what looks grave the one that rejects. */
function isProposed(request: PermissionRequest, option: PermissionOption): boolean {
	const isGrave = severityOf(request) === "high";
	return isGrave ? option.kind === "reject_once" : option === request.options[0];
}

interface Covered {
	readonly keys: readonly string[];
	readonly what: string;
}

/** What each choice covers: the same is said once. */
function covered(options: readonly PermissionOption[], wider: RuleSuggestion | null): readonly Covered[] {
	const said = new Map<string, Covered>();
	for (const [index, { optionId, key, appliesTo }] of options.entries()) {
		const what = wider?.appliesTo[optionId] ?? appliesTo ?? "";
		if (what !== "") said.set(what, { keys: [...(said.get(what)?.keys ?? []), key ?? String(index + 1)], what });
	}
	return [...said.values()];
}

function isReject(kind: PermissionOption["kind"]): boolean {
	return kind === "reject_once" || kind === "reject_always";
}

export function isDigit({ key, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
	return /^[1-9]$/.test(key) && !ctrlKey && !metaKey && !altKey;
}

/** The key that chooses it, for the eye: a screen reader is told by `aria-keyshortcuts`. */
export function Key({ name }: { readonly name: string }): ReactElement {
	return (
		<span className="key" aria-hidden="true">
			{name}
		</span>
	);
}

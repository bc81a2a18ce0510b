/** Settings of the next turn: model, agent and mode. */

import { type ReactElement, useRef } from "react";
import type { PanelState } from "../../bridge/messages.ts";
import type { Mode } from "../../protocol/protocol.ts";
import type { AppProps } from "../app_props.ts";
import { Dropdown } from "../chrome/dropdown.tsx";
import { ask } from "../chrome/host_calls.ts";
import { Icon } from "../chrome/icon.tsx";
import { Spoken } from "../chrome/popup.tsx";
import { MODES, nextMode } from "./modes.ts";

type PickerProps = AppProps & { readonly panel: PanelState };

export function ModelPicker({ panel, ...sides }: PickerProps): ReactElement {
	const { model, models, needsModel } = panel;
	const listed =
		models.some(({ name }) => name === model) || model === "" ? models : [{ name: model, available: true }, ...models];
	return (
		<Dropdown
			className="picker model-picker"
			name="Model"
			value={model}
			shown={
				<>
					<span className="picker-label">{needsModel ? "No model" : shortName(model) || "Model"}</span>
					<Icon name="chevron-down" />
				</>
			}
			choices={listed.map(({ name, available, reason }) => ({
				value: name,
				title: name,
				detail: available ? undefined : (reason ?? "Not available."),
				...(available ? {} : { icon: "warning", isDoubtful: true }),
			}))}
			search
			free={(typed) => `Use “${typed}”`}
			onChoose={(value) => void ask(sides, "setModel", { model: value })}
		/>
	);
}

/** The agent that needs no name. */
const DEFAULT = "default";

/**
 * The agent of the next turn; shown only if there is a choice. Agents may have the name of a mode, so the label says
 * "agent".
 */
export function AgentPicker({ panel, ...sides }: PickerProps): ReactElement | null {
	const { agent, agents } = panel;
	if (agents.length < 2 && agents.every(({ name }) => name === agent)) return null;
	return (
		<Dropdown
			className="picker agent-picker"
			name="Agent"
			value={agent}
			shown={
				<>
					<Icon name="robot" />
					{agent !== DEFAULT && <span className="picker-label">{agent} agent</span>}
					<Icon name="chevron-down" />
				</>
			}
			choices={agents.map(({ name, description }) => ({ value: name, title: name, detail: description }))}
			onChoose={(value) => void ask(sides, "setAgent", { agent: value })}
		/>
	);
}

export function ModePicker({ panel, ...sides }: PickerProps): ReactElement {
	const { mode, modes } = panel;
	const words = MODES[mode];
	const offered = modes.includes(mode) ? modes : [...modes, mode];
	return (
		<>
			<Dropdown
				className={`picker mode-picker mode-${mode}`}
				name="Mode"
				shortcut="Shift+Tab"
				value={mode}
				shown={
					<>
						<Icon name={words.icon} />
						<span className="picker-label">{words.title}</span>
						<Icon name="chevron-down" />
					</>
				}
				choices={offered.map((each) => ({ value: each, ...MODES[each] }))}
				onChoose={(value) => void ask(sides, "setMode", { mode: value as Mode })}
			/>
			<span role="status">
				<Spoken>Mode: {words.title}</Spoken>
			</span>
		</>
	);
}

/** Goes to the next mode; whether there is one. A press that comes before the last one is answered goes on from there. */
export function useNextMode(props: AppProps): () => boolean {
	const asked = useRef<Mode | null>(null);
	return () => {
		const { panel } = props.store.view;
		const next = panel === null ? null : nextMode(asked.current ?? panel.mode, panel.modes);
		if (next === null) return false;
		asked.current = next;
		void ask(props, "setMode", { mode: next }).then(() => {
			if (asked.current === next) asked.current = null;
		});
		return true;
	};
}

/** `openai/gpt-5.2` → `gpt-5.2`: who provides it is in the list. */
function shortName(model: string): string {
	return model.slice(model.lastIndexOf("/") + 1);
}

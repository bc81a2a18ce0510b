/** The button of voice input, and what is heard. */

import "./voice.css";
import type { ReactElement } from "react";
import type { AppProps } from "../app_props.ts";
import { ask } from "../chrome/host_calls.ts";
import { Icon, IconButton } from "../chrome/icon.tsx";
import { useView } from "../store.ts";

/** Nothing if there is no speech server. */
export function VoiceButton(props: AppProps): ReactElement | null {
	const state = useView(props.store, ({ voice }) => voice.state);
	if (state === "unavailable") return null;
	const isOn = state !== "off";
	return (
		<IconButton
			className={`voice${isOn ? " voice-on" : ""}`}
			icon={isOn ? "mic-filled" : "mic"}
			label={isOn ? "Stop listening" : "Speak prompts"}
			onClick={() => void ask(props, "toggleVoice", null)}
		/>
	);
}

/** What is heard of an utterance; it is sent when it is complete. */
export function HeardText({ store }: AppProps): ReactElement | null {
	const { state, text } = useView(store, ({ voice }) => voice);
	if (state !== "listening" && state !== "starting") return null;
	return (
		<div className="heard" role="status">
			<Icon name="mic-filled" />
			<span>{text !== "" ? text : state === "starting" ? "Starting to listen…" : "Listening…"}</span>
		</div>
	);
}

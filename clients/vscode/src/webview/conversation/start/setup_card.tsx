/** The way to a first model: the key of a provider, a server on this machine or another one, a program. */

import type { ReactElement } from "react";
import { PROVIDERS } from "../../../conversation/providers.ts";
import { Icon } from "../../chrome/icon.tsx";
import { useConversationContext } from "../context.tsx";

/** Providers with a button; "Other" lists all. */
const FIRST = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"] as const;

interface SetupCardProps {
	/** A prompt waits for it. */
	readonly isAwaited: boolean;
}

export function SetupCard({ isAwaited }: SetupCardProps): ReactElement {
	const { act } = useConversationContext();
	return (
		<section className="start-card" aria-label="Set up a model">
			<h2>
				<Icon name="wand" /> Set up a model
			</h2>
			<p>{isAwaited ? "Your prompt is sent once a model is set up." : "Choose one of these to start."}</p>
			<Way icon="key" title="API key" text="Saved in the editor's secret storage.">
				{FIRST.map((variable) => (
					<button key={variable} type="button" className="choice" onClick={() => void act("setApiKey", { variable })}>
						{PROVIDERS[variable]}
					</button>
				))}
				<button type="button" className="choice" onClick={() => void act("setApiKey", { variable: null })}>
					Other…
				</button>
			</Way>
			<Way icon="server" title="Local model" text="Ollama, LM Studio and others, found automatically or by address.">
				<button type="button" className="choice" onClick={() => void act("setUpModel", { way: "local" })}>
					Choose server…
				</button>
			</Way>
			<Way icon="terminal" title="Command-line agent" text="Claude, Gemini or another program, with its own login.">
				<button type="button" className="choice" onClick={() => void act("setUpModel", { way: "program" })}>
					Choose program…
				</button>
			</Way>
		</section>
	);
}

interface WayProps {
	readonly icon: string;
	readonly title: string;
	readonly text: string;
	readonly children: ReactElement | readonly (ReactElement | readonly ReactElement[])[];
}

function Way({ icon, title, text, children }: WayProps): ReactElement {
	return (
		<div className="way">
			<h3>
				<Icon name={icon} /> {title}
			</h3>
			<p className="hint">{text}</p>
			<div className="choices">{children}</div>
		</div>
	);
}

/** Code of an answer, coloured, with what can be done with it. */

import { type ReactElement, useEffect, useState } from "react";
import { isForShell, isOneLine } from "../../../conversation/shell_code.ts";
import { IconButton } from "../../chrome/icon.tsx";
import { useConversationContext } from "../context.tsx";
import { fenceOf } from "./fence.ts";
import { Fragment } from "./fragment.tsx";
import { coloured, isKept } from "./highlight.ts";
import { visible } from "./invisible_characters.ts";
import { MAX_COLOURED_AT_ONCE } from "./limits.ts";
import { colouredOf } from "./sanitiser.ts";

export interface CodeBlockProps {
	readonly code: string;
	/** What stands behind the fence. */
	readonly info: string;
	/** More of it is coming. */
	readonly growing: boolean;
}

export function CodeBlock({ code, info, growing }: CodeBlockProps): ReactElement {
	const { act } = useConversationContext();
	const { language, path } = fenceOf(info, code);
	const label = path ?? (language === "" ? "text" : language);
	return (
		<div className="code-block">
			<div className="code-head">
				<span className="code-label">{visible(label)}</span>
				{!growing && (
					<span className="code-actions">
						<CopyButton text={code} what="code" />
						{path === null && isForShell(language) && (
							<IconButton
								icon={isOneLine(code) ? "play" : "terminal"}
								label={isOneLine(code) ? "Run in terminal" : "Run in terminal (waits there for Enter)"}
								onClick={() => act("runInTerminal", { code, language })}
							/>
						)}
						<IconButton icon="insert" label="Insert at cursor" onClick={() => act("insertCode", { code })} />
						<IconButton
							icon="git-pull-request-go-to-changes"
							label={path === null ? "Apply in editor" : `Apply to ${path}`}
							onClick={() => act("applyCode", { code, language, path })}
						/>
					</span>
				)}
			</div>
			{/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls sideways, by the keyboard too */}
			<pre tabIndex={0} role="group" aria-label={`Code, ${visible(label)}`}>
				<Coloured code={code} language={language} growing={growing} />
			</pre>
		</div>
	);
}

export function CopyButton({ text, what }: { readonly text: string; readonly what: string }): ReactElement {
	const { act } = useConversationContext();
	const [copied, setCopied] = useState(false);
	useEffect(() => {
		if (!copied) return;
		const timer = setTimeout(() => setCopied(false), 2000);
		return () => clearTimeout(timer);
	}, [copied]);
	const copy = async (): Promise<void> => {
		if ((await act("copy", { text })).done) setCopied(true);
	};
	return <IconButton icon={copied ? "check" : "copy"} label={copied ? "Copied" : `Copy ${what}`} onClick={copy} />;
}

interface ColouredProps {
	readonly code: string;
	readonly language: string;
	readonly growing: boolean;
}

function Coloured({ code, language, growing }: ColouredProps): ReactElement {
	const html = useColours(code, language, growing);
	if (html === null) return <code key="plain">{visible(code)}</code>;
	return <Fragment key="coloured" as="code" html={html} sanitise={colouredOf} />;
}

/** HTML, or null while it is better shown without colours: long code waits until it is whole and the page has time. */
function useColours(code: string, language: string, growing: boolean): string | null {
	const [later, setLater] = useState<{ readonly code: string; readonly html: string | null } | null>(null);
	const atOnce = code.length <= MAX_COLOURED_AT_ONCE || isKept(code, language);
	const waits = !atOnce && !growing && later?.code !== code;
	useEffect(() => {
		if (!waits) return;
		const request = requestIdleCallback(() => setLater({ code, html: coloured(code, language) }), { timeout: 500 });
		return () => cancelIdleCallback(request);
	}, [waits, code, language]);
	if (atOnce) return coloured(code, language);
	return later?.code === code ? later.html : null;
}

/** Sanitised HTML in the page. It is replaced only if it differs, so that the reader's selection is kept. */

import { type ReactElement, useLayoutEffect, useRef } from "react";

export interface FragmentProps {
	readonly as: "div" | "span" | "code";
	readonly className?: string;
	readonly html: string;
	readonly sanitise: (html: string) => DocumentFragment;
}

export function Fragment({ as: Element, className, html, sanitise }: FragmentProps): ReactElement {
	const element = useRef<HTMLElement | null>(null);
	useLayoutEffect(() => element.current?.replaceChildren(sanitise(html)), [html, sanitise]);
	return (
		<Element
			className={className}
			ref={(node: HTMLElement | null) => {
				element.current = node;
			}}
		/>
	);
}

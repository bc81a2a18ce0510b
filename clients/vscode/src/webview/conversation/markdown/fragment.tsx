/** Sanitised HTML in the page: replaced only where it is other HTML, so that what the reader has selected stays. */

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

/** An answer: markdown as it streams in. A block is drawn again only where its own source has changed. */

import type { Token, Tokens } from "marked";
import { memo, type ReactElement, type ReactNode, useMemo, useState } from "react";
import { type Blocks, blocksOf, htmlOf, type References, withPlainLineEnds } from "./blocks.ts";
import { CodeBlock } from "./code_block.tsx";
import { Fragment } from "./fragment.tsx";
import { MAX_BLOCK_CHARS, MAX_DEPTH } from "./limits.ts";
import { PlainText } from "./plain_text.tsx";
import { proseOf } from "./sanitiser.ts";

export interface MarkdownProps {
	readonly text: string;
	/** More is coming, at the end. */
	readonly growing: boolean;
}

export const Markdown = memo(function Markdown({ text, growing }: MarkdownProps): ReactElement {
	const [reader] = useState(() => new Reader());
	const { tokens, references } = useMemo(() => reader.read(text, growing), [reader, text, growing]);
	return (
		<div className="markdown">
			<BlockList tokens={tokens} references={references} depth={0} growing={growing} />
		</div>
	);
});

/** Remembers what it has read, since what comes next begins with it. */
class Reader {
	#read: Blocks | null = null;

	/** Once nothing more comes, all is read anew: a link may be explained behind the block that it stands in. */
	read(text: string, growing: boolean): Blocks {
		this.#read = blocksOf(withPlainLineEnds(text), growing ? this.#read : null);
		return this.#read;
	}
}

interface BlockContext {
	readonly references: References;
	readonly depth: number;
	readonly growing: boolean;
}

function BlockList({ tokens, ...around }: BlockContext & { readonly tokens: readonly Token[] }): ReactNode {
	return tokens.map((token, index) => (
		// A block is told from others by its place: it is the same one while its end is still coming.
		// biome-ignore lint/suspicious/noArrayIndexKey: as above
		<Block key={index} {...around} token={token} growing={around.growing && index === tokens.length - 1} />
	));
}

interface BlockProps extends BlockContext {
	readonly token: Token;
}

const Block = memo(function Block({ token, ...around }: BlockProps): ReactNode {
	const block = token as Tokens.Generic | Tokens.List | Tokens.Code;
	if (around.depth > MAX_DEPTH || isTooLong(token)) return <LongBlock token={token} {...around} />;
	switch (block.type) {
		case "space":
		case "def":
		case "checkbox":
			return null;
		case "code":
			return <CodeBlock code={block["text"]} info={block["lang"] ?? ""} growing={around.growing} />;
		case "list":
			return <List list={block as Tokens.List} {...around} />;
		case "blockquote":
			return (
				<blockquote dir="auto">
					<BlockList {...around} tokens={block["tokens"] ?? []} depth={around.depth + 1} />
				</blockquote>
			);
		case "table":
			return <Table source={token.raw} references={around.references} />;
		case "text":
			return <Prose source={block["text"]} references={around.references} inline />;
		case "plain":
			return <PlainText text={token.raw} />;
		default:
			return <Prose source={token.raw} references={around.references} inline={false} />;
	}
}, isSameBlock);

function isTooLong({ type, raw }: Token): boolean {
	return raw.length > MAX_BLOCK_CHARS && type !== "list" && type !== "blockquote";
}

function isSameBlock(before: BlockProps, after: BlockProps): boolean {
	return (
		before.token.raw === after.token.raw &&
		before.token.type === after.token.type &&
		before.references === after.references &&
		before.growing === after.growing
	);
}

/** Too long or too deep to be read as markdown; code is shown as code all the same. */
function LongBlock({ token, growing }: BlockProps): ReactElement {
	const { type, text, lang } = token as Tokens.Generic;
	if (type === "code") return <CodeBlock code={text} info={lang ?? ""} growing={growing} />;
	return <PlainText text={token.raw} />;
}

interface ProseProps {
	readonly source: string;
	readonly references: References;
	readonly inline: boolean;
}

function Prose({ source, references, inline }: ProseProps): ReactElement {
	const html = useMemo(() => htmlOrNull(source, references, inline), [source, references, inline]);
	if (html === null) return <PlainText text={source} />;
	return <Fragment as={inline ? "span" : "div"} className="prose" html={html} sanitise={proseOf} />;
}

function htmlOrNull(source: string, references: References, inline: boolean): string | null {
	try {
		return htmlOf(source, references, inline);
	} catch {
		return null; // nested deeper than a program's stack
	}
}

function Table(props: Omit<ProseProps, "inline">): ReactElement {
	return (
		// biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls sideways, by the keyboard too
		<div className="table" role="group" aria-label="Table" tabIndex={0}>
			<Prose {...props} inline={false} />
		</div>
	);
}

function List({ list, depth, growing, references }: BlockContext & { readonly list: Tokens.List }): ReactElement {
	const items = list.items.map((item, index) => (
		// biome-ignore lint/suspicious/noArrayIndexKey: an item is told from others by its place
		<li key={index} className={item.task ? "task" : undefined}>
			{item.task && <TaskMark done={item.checked === true} />}
			<BlockList
				tokens={item.tokens}
				references={references}
				depth={depth + 1}
				growing={growing && index === list.items.length - 1}
			/>
		</li>
	));
	if (!list.ordered) return <ul dir="auto">{items}</ul>;
	return (
		<ol dir="auto" start={list.start === "" ? 1 : list.start}>
			{items}
		</ol>
	);
}

function TaskMark({ done }: { readonly done: boolean }): ReactElement {
	return (
		<span
			className={`codicon codicon-${done ? "pass-filled" : "circle-large"}`}
			role="img"
			aria-label={done ? "done" : "to do"}
		/>
	);
}

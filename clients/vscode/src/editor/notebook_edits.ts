/** Edits of open notebooks: their cells as the daemon reads them from a file, and as the editor has them. */

import * as vscode from "vscode";
import type { NotebookEdit, NotebookSplice } from "../protocol/protocol.ts";

/** Cell as nbformat has it. */
type FileCell = NotebookSplice["cells"][number];

/** Text that nbformat may store as a list of lines. */
type FileText = string | readonly string[];

interface FileOutput {
	readonly output_type: string;
	readonly name?: string;
	readonly text?: FileText;
	readonly ename?: string;
	readonly evalue?: string;
	readonly traceback?: readonly string[];
	readonly data?: Readonly<Record<string, unknown>>;
	readonly metadata?: Readonly<Record<string, unknown>>;
	readonly execution_count?: number | null;
}

/** The notebook of that URI, if it is open. */
export function notebookOf(given: string): vscode.NotebookDocument | undefined {
	return vscode.workspace.notebookDocuments.find(({ uri }) => uri.toString() === given);
}

/** Replacements of cells; null if the notebook is not open, or its cells are not those that the edit was made from. */
export function replacementsOf(edit: NotebookEdit): readonly vscode.NotebookEdit[] | null {
	const notebook = notebookOf(edit.uri);
	if (notebook === undefined || notebook.cellCount !== edit.cells.length) return null;
	const isCurrent = notebook.getCells().every(({ document }, index) => {
		const expected = edit.cells[index];
		return document.uri.toString() === expected?.uri && document.version === expected.version;
	});
	if (!isCurrent) return null;
	const language = languageOf(notebook);
	return edit.splices.map(({ start, deleteCount, cells }) => {
		const range = new vscode.NotebookRange(start, start + deleteCount);
		const made = cells.map((cell) => cellOf(cell, language));
		return vscode.NotebookEdit.replaceCells(range, made);
	});
}

/** Language of the notebook's code. */
function languageOf(notebook: vscode.NotebookDocument): string {
	const code = notebook.getCells().find(({ kind, document }) => isCode(kind) && document.languageId !== "raw");
	if (code !== undefined) return code.document.languageId;
	const metadata = notebook.metadata["metadata"];
	return metadata?.language_info?.name ?? metadata?.kernelspec?.language ?? "python";
}

function isCode(kind: vscode.NotebookCellKind): boolean {
	return kind === vscode.NotebookCellKind.Code;
}

/** A cell with its metadata where the editor's own reader of notebooks puts them. */
function cellOf(cell: FileCell, language: string): vscode.NotebookCellData {
	const kind = cell["cell_type"] === "markdown" ? vscode.NotebookCellKind.Markup : vscode.NotebookCellKind.Code;
	const metadata = (cell["metadata"] ?? {}) as { readonly vscode?: { readonly languageId?: string } };
	const own = metadata.vscode?.languageId;
	const languageId = cell["cell_type"] === "code" ? (own ?? language) : (own ?? String(cell["cell_type"]));
	const made = new vscode.NotebookCellData(kind, joined(cell["source"] as FileText), languageId);
	const kept = ["id", "attachments", "execution_count"].filter((name) => cell[name] !== undefined);
	made.metadata = { ...Object.fromEntries(kept.map((name) => [name, cell[name]])), metadata };
	const outputs = (cell["outputs"] ?? []) as readonly FileOutput[];
	made.outputs = outputs.map(outputOf);
	const order = cell["execution_count"];
	if (typeof order === "number") made.executionSummary = { executionOrder: order };
	return made;
}

function outputOf(output: FileOutput): vscode.NotebookCellOutput {
	const { output_type: outputType, metadata, execution_count: executionCount } = output;
	switch (outputType) {
		case "stream": {
			const text = joined(output.text ?? "");
			const { stdout, stderr } = vscode.NotebookCellOutputItem;
			return new vscode.NotebookCellOutput([output.name === "stderr" ? stderr(text) : stdout(text)], { outputType });
		}
		case "error": {
			const { ename: name = "", evalue: message = "", traceback = [] } = output;
			const item = vscode.NotebookCellOutputItem.error({ name, message, stack: traceback.join("\n") });
			return new vscode.NotebookCellOutput([item], { outputType, originalError: output });
		}
		default: {
			const items = Object.entries(output.data ?? {}).map(([mime, value]) => itemOf(mime, value));
			return new vscode.NotebookCellOutput(items, { outputType, executionCount, metadata: metadata ?? {} });
		}
	}
}

function itemOf(mime: string, value: unknown): vscode.NotebookCellOutputItem {
	if (typeof value !== "string" && !Array.isArray(value)) return vscode.NotebookCellOutputItem.json(value, mime);
	const text = joined(value as FileText);
	if (!mime.startsWith("image/") || mime === "image/svg+xml") return vscode.NotebookCellOutputItem.text(text, mime);
	return new vscode.NotebookCellOutputItem(Buffer.from(text, "base64"), mime);
}

function joined(text: FileText): string {
	return typeof text === "string" ? text : text.join("");
}

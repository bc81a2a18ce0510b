/**
 * Questions of the daemon itself, such as those of "Set Up a Model", and of MCP servers: they belong to no session, and
 * no chat shows them.
 */

import * as vscode from "vscode";
import type { QuestionRequest, QuestionResult } from "../protocol/protocol.ts";

const SETUP_TITLE = "pygent: Set Up a Model";

/** A quick pick's title has room for no more; what is longer is a message with buttons. */
const LONGEST_TITLE = 90;

/** Asks the user for the daemon; null if the user closed the question. */
export async function answerToDaemon(
	request: QuestionRequest,
	cancelled: vscode.CancellationToken,
): Promise<QuestionResult | null> {
	if (request.secret === true || request.allowText) return await typed(request, cancelled);
	const choice =
		request.question.length > LONGEST_TITLE && request.choices.length <= 5
			? await clicked(request)
			: await picked(request, cancelled);
	return choice === undefined ? null : { choice };
}

/** A server's question must not look as if the daemon asked for a key. */
function titleOf({ mcpServer }: QuestionRequest): string {
	return mcpServer === undefined ? SETUP_TITLE : `pygent: Question from the MCP Server ${mcpServer}`;
}

async function typed(request: QuestionRequest, cancelled: vscode.CancellationToken): Promise<QuestionResult | null> {
	const { question, secret } = request;
	const options: vscode.InputBoxOptions = {
		title: titleOf(request),
		prompt: question.replaceAll("\n", " "),
		password: secret === true,
		ignoreFocusOut: true,
	};
	const text = await vscode.window.showInputBox(options, cancelled);
	return text === undefined || text.trim() === "" ? null : { text };
}

async function picked(request: QuestionRequest, cancelled: vscode.CancellationToken) {
	const { question, choices } = request;
	const items = choices.map(({ title, description }) => ({ label: title, detail: description ?? "", title }));
	const options: vscode.QuickPickOptions = {
		title: titleOf(request),
		placeHolder: question.replaceAll("\n", " "),
		ignoreFocusOut: true,
	};
	return (await vscode.window.showQuickPick(items, options, cancelled))?.title;
}

async function clicked(request: QuestionRequest): Promise<string | undefined> {
	const titles = request.choices.map(({ title }) => title);
	const options = { modal: true, detail: request.question };
	return await vscode.window.showInformationMessage(titleOf(request), options, ...titles);
}

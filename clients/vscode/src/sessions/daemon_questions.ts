/** Questions of the daemon itself, such as those of "Set Up a Model": they belong to no session, and no chat shows them. */

import * as vscode from "vscode";
import type { QuestionRequest, QuestionResult } from "../protocol/protocol.ts";

const TITLE = "pygent: Set Up a Model";

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

async function typed(
	{ question, secret }: QuestionRequest,
	cancelled: vscode.CancellationToken,
): Promise<QuestionResult | null> {
	const options: vscode.InputBoxOptions = {
		title: TITLE,
		prompt: question.replaceAll("\n", " "),
		password: secret === true,
		ignoreFocusOut: true,
	};
	const text = await vscode.window.showInputBox(options, cancelled);
	return text === undefined || text.trim() === "" ? null : { text };
}

async function picked({ question, choices }: QuestionRequest, cancelled: vscode.CancellationToken) {
	const items = choices.map(({ title, description }) => ({ label: title, detail: description ?? "", title }));
	const options: vscode.QuickPickOptions = {
		title: TITLE,
		placeHolder: question.replaceAll("\n", " "),
		ignoreFocusOut: true,
	};
	return (await vscode.window.showQuickPick(items, options, cancelled))?.title;
}

async function clicked({ question, choices }: QuestionRequest): Promise<string | undefined> {
	const titles = choices.map(({ title }) => title);
	return await vscode.window.showInformationMessage(TITLE, { modal: true, detail: question }, ...titles);
}

/** What is known of models by their names. Pure. */

import type { Model } from "../protocol/protocol.ts";

interface Listed {
	readonly models: readonly Model[];
}

/** Returns the variable of the model's API key; undefined if it needs no known key. */
export function keyVariableOf(listed: Listed, name: string): string | undefined {
	return like(listed, name)?.keyVariable;
}

/** Returns the variable of the API key that the model lacks; undefined if it lacks none. */
export function lackedKeyOf(listed: Listed, name: string): string | undefined {
	const model = like(listed, name);
	return model?.lacksKey === true ? model.keyVariable : undefined;
}

/** The model, or another one of its provider: a name that is not listed can be typed, too. */
function like({ models }: Listed, name: string): Model | undefined {
	const provider = name.slice(0, name.indexOf("/") + 1);
	return (
		models.find((each) => each.name === name) ??
		(provider === "" ? undefined : models.find((each) => each.name.startsWith(provider)))
	);
}

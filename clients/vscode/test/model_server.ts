/** The provider that the daemon talks to: the one of the daemon's own tests (`tests/model_server_process.py`). */
import { createInterface } from "node:readline";
import { PYTHON, REPOSITORY } from "./paths.ts";
import { type RunningProgram, start } from "./processes.ts";

/** One answer of the model. What is left out is as `Step` in `tests/model_server.py` has it. */
export interface Step {
	readonly text?: string;
	readonly thinking?: string;
	readonly calls?: readonly ToolCall[];
	/** Characters a chunk. */
	readonly chunk?: number;
	/** Before the first byte. */
	readonly delay_s?: number;
	/** After each chunk. */
	readonly chunk_delay_s?: number;
	/** Send nothing more after that many chunks, the first (without text) included, until `resume` is called. */
	readonly pause_after?: number;
	/** Abort the connection after that many chunks. */
	readonly drop_after?: number;
	/** Never answer. */
	readonly hang?: boolean;
	/** Anything but 200 is answered with an error object, `error` its message. */
	readonly status?: number;
	readonly error?: string;
	readonly headers?: Readonly<Record<string, string>>;
	/** Prompt and completion tokens. */
	readonly usage?: readonly [number, number];
}

export interface ToolCall {
	readonly name: string;
	readonly arguments: Readonly<Record<string, unknown>>;
	readonly id?: string;
}

/** The body of a request for an answer. */
export interface ModelRequest {
	readonly model: string;
	readonly messages: readonly { readonly role: string; readonly content: unknown }[];
	readonly tools?: readonly unknown[];
}

type Counts = Partial<Record<"requests" | "answers" | "disconnects", number>>;

interface Waiting {
	readonly resolve: (result: unknown) => void;
	readonly reject: (error: Error) => void;
}

export class ModelServer {
	/** In which `openai/ANY` is this server. */
	readonly env: Readonly<Record<string, string>>;
	readonly #program: RunningProgram;
	readonly #waiting = new Map<number, Waiting>();
	#lastId = 0;

	private constructor(program: RunningProgram) {
		this.#program = program;
		this.env = JSON.parse(program.ready[0]).env;
		createInterface(program.process.stdout).on("line", (line) => this.#answered(JSON.parse(line)));
		program.process.once("exit", () => {
			for (const { reject } of this.#waiting.values()) {
				reject(new Error(`the model server ended:\n${program.output}`));
			}
		});
	}

	static async start(): Promise<ModelServer> {
		const program = await start({
			command: PYTHON,
			args: ["-m", "tests.model_server_process"],
			cwd: REPOSITORY,
			env: { PATH: process.env["PATH"] ?? "", PYTHONDONTWRITEBYTECODE: "1" },
			ready: /^\{"port".*\}$/m,
		});
		return new ModelServer(program);
	}

	/** What is asked from now on is answered with these steps; the records begin anew. */
	async script(...steps: readonly Step[]): Promise<void> {
		await this.#ask("script", { steps });
	}

	/** What was asked since the script began. */
	async requests(): Promise<readonly ModelRequest[]> {
		return (await this.#ask("requests", {})) as readonly ModelRequest[];
	}

	/** Resolves when there were as many since the script began. */
	async wait(counts: Counts): Promise<void> {
		await this.#ask("wait", counts);
	}

	/** Lets one answer go on that pauses, now or later. */
	async resume(): Promise<void> {
		await this.#ask("resume", {});
	}

	async stop(): Promise<void> {
		await this.#program.stop();
	}

	#ask(method: string, params: object): Promise<unknown> {
		const id = ++this.#lastId;
		return new Promise((resolve, reject) => {
			this.#waiting.set(id, { resolve, reject });
			this.#program.process.stdin.write(`${JSON.stringify({ id, method, params })}\n`);
		});
	}

	#answered(answer: { id: number; result?: unknown; error?: string }): void {
		const waiting = this.#waiting.get(answer.id);
		this.#waiting.delete(answer.id);
		if (answer.error === undefined) {
			waiting?.resolve(answer.result);
		} else {
			waiting?.reject(new Error(answer.error));
		}
	}
}

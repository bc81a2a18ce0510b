/** All tests that run in the extension host; `run` is what the workbench calls. */
import "./activation.ts";
import "./attaching.ts";
import "./calls.ts";
import "./commands.ts";
import "./mentions.ts";
import "./places.ts";
import "./reviewing.ts";
import "./running.ts";
import "./judging.ts";

export { runAll as run } from "./tests.ts";

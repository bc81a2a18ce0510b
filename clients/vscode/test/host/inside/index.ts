/** All tests that run in the extension host; `run` is what the workbench calls. */
import "./activation.ts";
import "./attachments.ts";
import "./panel_calls.ts";
import "./commands.ts";
import "./mentions.ts";
import "./notebooks.ts";
import "./locations.ts";
import "./review.ts";
import "./command_terminal.ts";
import "./editor_tools.ts";
import "./concurrent_review.ts";

export { runAll as run } from "./harness.ts";

/** Checks every TypeScript project; all of them are run, so that one look shows all that is wrong. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");
const COMPILER = join(ROOT, "node_modules/typescript/bin/tsc");
const PROJECTS = ["tsconfig.pure.json", "tsconfig.json", "src/webview/tsconfig.json", "test/tsconfig.json"];

const failed = PROJECTS.filter((project) => {
	if (!existsSync(join(ROOT, project))) {
		throw new Error(`there is no project ${project}: correct PROJECTS in scripts/check_types.ts`);
	}
	return spawnSync(process.execPath, [COMPILER, "--project", project], { cwd: ROOT, stdio: "inherit" }).status !== 0;
});
if (failed.length > 0) {
	console.error(`type errors in ${failed.join(", ")}`);
	process.exitCode = 1;
}

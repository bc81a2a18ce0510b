/** The two bundles of the extension: what runs in the extension host, and the page of the panel. */
import { join } from "node:path";
import type { BuildOptions } from "esbuild";

const ROOT = join(import.meta.dirname, "..");

/** `production` leaves out source maps and white space. */
export function bundles({ production, outdir }: { readonly production: boolean; readonly outdir: string }): {
	readonly extension: BuildOptions;
	readonly page: BuildOptions;
} {
	const shared: BuildOptions = {
		absWorkingDir: ROOT,
		bundle: true,
		outdir,
		minify: production,
		sourcemap: !production,
		define: { "process.env.NODE_ENV": production ? '"production"' : '"development"' },
		// The licences stand in NOTICE, whole.
		legalComments: "none",
		// How many bytes of which file are in: NOTICE is made of it.
		metafile: true,
	};
	return {
		extension: {
			...shared,
			entryPoints: { extension: "src/extension.ts" },
			// The package is of ES modules, for the tests; the editor is given CommonJS, which it has always taken.
			outExtension: { ".js": ".cjs" },
			platform: "node",
			format: "cjs",
			// The oldest editor that `engines` admits runs extensions in Node 22.
			target: "node22",
			external: ["vscode"],
		},
		page: {
			...shared,
			entryPoints: { webview: "src/webview/main.tsx" },
			platform: "browser",
			format: "iife",
			// The oldest editor that `engines` admits has Chromium 138.
			target: "chrome138",
			jsx: "automatic",
			loader: { ".ttf": "file" },
			assetNames: "[name]",
		},
	};
}

import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "@vscode/codicons/dist/codicon.css";

const container = document.getElementById("root");
if (container === null) {
	throw new Error("the page has no element #root");
}
createRoot(container).render(
	<StrictMode>
		<main aria-label="pygent" />
	</StrictMode>,
);

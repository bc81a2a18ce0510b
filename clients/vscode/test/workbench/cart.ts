/** A file with two functions, far enough apart that edits of both are two hunks. */
export const CART = [
	"def total(items):",
	"    return sum(items)",
	"",
	...Array.from({ length: 8 }, (_, index) => `LIMIT_${index} = ${index}`),
	"",
	"def count(items):",
	"    return len(items)",
	"",
].join("\n");

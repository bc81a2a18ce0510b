import assert from "node:assert/strict";
import { test } from "node:test";
import { hidesSomething, isForShell, isOneLine, typedOf } from "../../../src/conversation/shell_code.ts";

test("what is typed of a session that was copied are its commands, without prompts and output", () => {
	const all: readonly (readonly [string, string])[] = [
		["$ npm test\n\n> shop@1.0.0 test\n> node --test\n\nok 1\n$ git status\n", "npm test\ngit status"],
		["# Install\n$ pip install -e . \\\n>   --no-deps\nCollecting…\n", "pip install -e . \\\n  --no-deps"],
		["me@here:~/shop$ make\nmake: done\n", "make"],
		["PS C:\\shop> dir\n a.py\nPS C:\\shop> cd src", "dir\ncd src"],
		["C:\\shop> dir", "dir"],
		["% make", "make"],
	];

	assert.deepEqual(
		all.map(([code]) => typedOf(code)),
		all.map(([, typed]) => typed),
	);
});

test("where output cannot be told from the rest of a command, nothing is typed", () => {
	for (const code of [
		"$ cat <<EOF\nx\nEOF\n$ ls",
		"$ echo 'a\nb'\n$ ls",
		"$ git commit -m 'first\n\nbody'",
		"$ cat > .env <<EOF\nA=1\nEOF",
		"$ for each in *; do\n  cat $each\ndone",
		"$ f() {\n  ls\n}",
		"$ make &&\nmake test",
	]) {
		assert.equal(typedOf(code), "", code);
	}
	assert.equal(typedOf("$ git commit -m 'it\\'\"'\"'s'\n1 file changed"), "git commit -m 'it\\'\"'\"'s'");
	assert.equal(typedOf("$ echo 'a b'\na b\n$ ls | wc\n1"), "echo 'a b'\nls | wc");
});

test("code without prompts is typed as it is", () => {
	for (const code of [
		"make test",
		"# build\nmake\n\nmake test",
		'echo "$ 5"',
		"$HOME/bin/run",
		"cat <<EOF\n$ price\nEOF",
	]) {
		assert.equal(typedOf(`\n${code}\n`), code);
	}
	assert.ok(isOneLine("$ make\nmake: done\n"));
	assert.ok(!isOneLine("make \\\n  test"));
});

test("a shell is one by its name alone", () => {
	for (const language of ["sh", "bash", "zsh", "shell", "console", "fish", "powershell"])
		assert.ok(isForShell(language));
	for (const language of ["", "text", "python", "makefile", "diff"]) assert.ok(!isForShell(language));
});

test("what nobody sees in a command is found", () => {
	for (const text of ["ls \u001b[200~", "rm\u202e x", "a\u200bb", "a\rb", "a\u2028b", "\u0003"])
		assert.ok(hidesSomething(text));
	assert.ok(!hidesSomething("printf 'ä😀'\n\tmake"));
});

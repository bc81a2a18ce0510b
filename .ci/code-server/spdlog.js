// Stands in for @vscode/spdlog, which has no prebuilt binary: the same names, in JavaScript alone. One assignment a
// name, since it is imported from an ES module, whose lexer has to see them.
const fs = require("node:fs");
const path = require("node:path");

const LEVELS = ["trace", "debug", "info", "warning", "error", "critical", "off"];
const METHODS = ["trace", "debug", "info", "warn", "error", "critical"];

class Logger {
  constructor(_kind, name, file) {
    this.name = name;
    this.file = file;
    this.level = LEVELS.indexOf("info");
    this.raw = false;
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.appendFileSync(file, "");
  }
  getLevel() {
    return this.level;
  }
  setLevel(level) {
    this.level = level;
  }
  setPattern() {}
  clearFormatters() {
    this.raw = true;
  }
  flush() {}
  drop() {}
  write(level, message) {
    if (level < this.level) return;
    const line = `${new Date().toISOString().replace("T", " ").slice(0, 23)} [${LEVELS[level]}] ${message}\n`;
    fs.appendFileSync(this.file, this.raw ? message : line);
  }
}
METHODS.forEach((method, level) => {
  Logger.prototype[method] = function log(message) {
    this.write(level, message);
  };
});

const create = async (name, file) => new Logger("", name, file);

exports.version = 0;
exports.setLevel = () => {};
exports.setFlushOn = () => {};
exports.Logger = Logger;
exports.createRotatingLogger = create;
exports.createAsyncRotatingLogger = create;

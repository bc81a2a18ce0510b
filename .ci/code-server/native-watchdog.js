// Stands in for @vscode/native-watchdog, which has no prebuilt binary: ends this process soon after its parent.
const EVERY_MS = 3000;

exports.start = (parent) => {
  const look = () => {
    try {
      process.kill(parent, 0);
    } catch {
      process.exit(87);
    }
  };
  setInterval(look, EVERY_MS).unref();
};
exports.exit = (code) => process.exit(code || 0);

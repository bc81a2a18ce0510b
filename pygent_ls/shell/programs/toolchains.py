"""Safe options of compilers, test runners, package managers and similar, from their `--help` and manuals.

Left out are options that name a program, a plugin, a settings file or an output path.
"""

from __future__ import annotations

from collections.abc import Mapping

_GO_BUILD = (
    "@long -a -n -p= -race -msan -asan -cover -covermode= -coverpkg= -v -work -x -buildmode= -buildvcs?"
    " -mod= -modcacherw -tags= -trimpath -json !-o= !-exec= !-toolexec= !-C="
)
_CARGO = (
    "-v --verbose -q --quiet -p: --package= --workspace --all --exclude= --lib --bin= --bins --example= --examples"
    " --test="
    " --tests --bench= --benches --all-targets --doc -F: --features= --all-features --no-default-features -j: --jobs="
    " -r --release --profile= --target= --locked --offline --frozen --color= --message-format= --keep-going --no-run"
    " --no-fail-fast --future-incompat-report --ignore-rust-version -h --help"
)
_NPM = "-s --silent -q --quiet -d -w: --workspace= --workspaces --if-present --no-color -h --help --json"
_PIP = (
    "-q --quiet -v --verbose --no-input --no-color --disable-pip-version-check --isolated --require-virtualenv -h"
    " --help -V --version --timeout= --retries="
)
_GH = "-R: --repo= -h --help"
_GH_LIST = f"{_GH} -L: --limit= --json= -q: --jq= -t: --template="
_KUBECTL = "-n: --namespace= --context= --cluster= --request-timeout= -v: -h --help"
_KUBECTL_GET = (
    f"{_KUBECTL} -o: --output= -A --all-namespaces -l: --selector= --field-selector= -w --watch --show-labels"
    " --show-kind --sort-by= --no-headers --ignore-not-found --chunk-size= -L: --label-columns= --subresource="
    " --output-watch-events --watch-only"
)
_SYSTEMCTL_TELLING = (
    "status show cat help list-units list-unit-files list-timers list-sockets list-dependencies list-jobs list-machines"
    " is-active is-enabled is-failed is-system-running get-default show-environment"
)
_RUNNER = {"": "-V --version -q -v", "run": "@1", "exec": "@1"}

SUBCOMMANDS: Mapping[str, Mapping[str, str]] = {
    "cargo": {
        "": "-v --verbose -q --quiet -V --version --list --color= --locked --offline --frozen -h --help !--config="
        " !-C: !-Z:",
        **dict.fromkeys(["bench", "build", "b", "c", "check", "d", "doc", "r", "run", "t", "test", "rustc"], _CARGO),
        "clippy": f"{_CARGO} --no-deps",
        "fmt": "--all --check -p: --package= -q --quiet -v --verbose",
        "metadata": "--format-version= --no-deps --all-features --no-default-features --locked --offline -q",
        "nextest": f"{_CARGO} --status-level= --final-status-level= --failure-output= --success-output= --test-threads="
        " --retries= --run-ignored= --partition= --fail-fast -E:",
        "search": "--limit= -q",
        "tree": f"{_CARGO} -e: --edges= -i: --invert= --depth= --prefix= --no-dedupe -d --duplicates --charset= -f:"
        " --format=",
        "update": "@named -p: --package= --precise= --dry-run -q -v -w --workspace --aggressive --recursive",
        "add": "@named --dev --build --optional --no-optional -F: --features= --no-default-features --dry-run -q -v"
        " --rename= -p: --package= --target=",
        "install": "@named --locked --version= -q -v --force -f --bin= --bins -j: --features= --all-features --git="
        " --tag= --branch= --rev=",
        "clean": "@named -p: --package= -r --release --doc -n --dry-run -q -v",
        "version": "-v --verbose",
    },
    "docker": {
        "": "-v --version -D --debug -l: --log-level= -h --help !-H: !--host= !-c: !--context= !--config=",
        "ps": "-a --all -f: --filter= --format= -n: --last= -l --latest --no-trunc -q --quiet -s --size",
        "images": "-a --all --digests -f: --filter= --format= --no-trunc -q --quiet",
        "inspect": "-f: --format= -s --size --type=",
        "logs": "--details -f --follow --since= -n: --tail= -t --timestamps --until=",
        "stats": "-a --all --format= --no-stream --no-trunc",
        "top": "",
        "port": "",
        "diff": "",
        "version": "-f: --format=",
        "info": "-f: --format=",
        "history": "--format= -H --human --no-trunc -q --quiet",
        "image ls": "-a --all --digests -f: --filter= --format= --no-trunc -q --quiet",
        "image inspect": "-f: --format=",
        "container ls": "-a --all -f: --filter= --format= -n: --last= -l --latest --no-trunc -q --quiet -s --size",
        "container inspect": "-f: --format= -s --size",
        "container logs": "--details -f --follow --since= -n: --tail= -t --timestamps --until=",
        "network ls": "-f: --filter= --format= --no-trunc -q --quiet",
        "network inspect": "-f: --format= -v --verbose",
        "volume ls": "-f: --filter= --format= -q --quiet",
        "volume inspect": "-f: --format=",
        "compose": "!-f: !--file= !--env-file= !--project-directory= -p: --project-name= --profile=",
        "compose ps": "-a --all --format= --filter= --orphans -q --quiet --services --status= --no-trunc",
        "compose logs": "-f --follow --no-color --no-log-prefix --since= -n: --tail= -t --timestamps --until=",
        "compose images": "--format= -q --quiet",
        "compose top": "",
        "compose ls": "-a --all --filter= --format= -q --quiet",
        "compose up": "@named -d --detach --build --no-build --no-deps --force-recreate --no-recreate --wait"
        " --quiet-pull"
        " --remove-orphans -t: --timeout= --no-start --no-color --abort-on-container-exit --scale= --pull=",
        "compose down": "@named --remove-orphans -t: --timeout=",
        "compose build": "@named --no-cache --pull -q --quiet --progress=",
        "compose restart": "@named -t: --timeout= --no-deps",
        "compose stop": "@named -t: --timeout=",
        "compose start": "@named",
        "compose exec": "@named @2 -T -d --detach -u: --user= -w: --workdir= -e: --env= --index=",
        "compose run": "@named @2 --rm -T -d --detach -u: --user= -w: --workdir= -e: --env= --no-deps -q --quiet"
        " --name=",
        "exec": "@named @1 -i --interactive -t --tty -d --detach -u: --user= -w: --workdir= -e: --env=",
        "run": "@named @1 --rm -i --interactive -t --tty -d --detach --name= -e: --env= -w: --workdir= -u: --user= -m:"
        " --memory= --cpus= --network= --net= --platform= --pull= -q --quiet --init --read-only -h: --hostname= -l:"
        " --label= --stop-timeout= --no-healthcheck --shm-size=",
        "build": "@named -t: --tag= -q --quiet --no-cache --pull --build-arg= --target= --platform= --progress= --rm"
        " --label= --load",
        "pull": "@named -a --all-tags -q --quiet --platform=",
        "start": "@named -a --attach -i --interactive",
        "stop": "@named -t: --time= -s: --signal=",
        "restart": "@named -t: --time= -s: --signal=",
        "rm": "@named -f --force -v --volumes",
    },
    "go": {
        "": "@long",
        "build": _GO_BUILD,
        "vet": f"{_GO_BUILD} -c=",
        "test": f"{_GO_BUILD} -run= -bench= -benchmem -benchtime= -count= -cpu= -failfast -fullpath -fuzz= -fuzztime="
        " -fuzzminimizetime= -list= -parallel= -short -shuffle= -skip= -timeout= -vet= -artifacts",
        "list": f"{_GO_BUILD} -f= -m -deps -e -find -test -u -versions -export -compiled -retracted",
        "doc": "@long -all -c -cmd -short -src -u",
        "env": "@long -json -changed",
        "fmt": "@long -n -x -mod=",
        "version": "@long -m -v",
        "help": "@long",
        "mod": "@long",
        "mod graph": "@long",
        "mod tidy": "@long -v -x -e -go= -compat= -diff",
        "mod verify": "@long",
        "mod why": "@long -m -vendor",
        "mod download": "@long -json -x",
        "run": f"@named @1 {_GO_BUILD}",
        "install": f"@named {_GO_BUILD}",
        "get": f"@named {_GO_BUILD} -t -u",
        "generate": "@named @long -n -v -x -run= -skip=",
        "tool": "@named @long @1 -n",
        "work": "@named @long",
        "clean": "@named @long -n -x -i -r -cache -testcache -modcache",
    },
    "gh": {
        "": f"{_GH} --version",
        "issue list": f"{_GH_LIST} -s: --state= -l: --label= -a: --assignee= -A: --author= -S: --search= -m:"
        " --milestone=",
        "issue status": _GH_LIST,
        "issue view": f"{_GH_LIST} -c --comments",
        "pr checks": f"{_GH_LIST} --watch -i: --interval= --required --fail-fast",
        "pr diff": f"{_GH} --color= --name-only --patch -e: --exclude=",
        "pr list": f"{_GH_LIST} -s: --state= -l: --label= -a: --assignee= -A: --author= -S: --search= -B: --base= -H:"
        " --head= -d --draft",
        "pr status": f"{_GH_LIST} -c --conflict-status",
        "pr view": f"{_GH_LIST} -c --comments",
        "release list": f"{_GH_LIST} --exclude-drafts --exclude-pre-releases",
        "release view": _GH_LIST,
        "repo view": f"{_GH_LIST} -b: --branch=",
        "run list": f"{_GH_LIST} -b: --branch= -c: --commit= -e: --event= -s: --status= -u: --user= -a --all"
        " --workflow=",
        "run view": f"{_GH_LIST} --log --log-failed -j: --job= -a: --attempt= -v --verbose --exit-status",
        "run watch": f"{_GH} -i: --interval= --exit-status --compact",
        "workflow list": f"{_GH_LIST} -a --all",
        "auth status": f"{_GH} --hostname= -a --active",
        "version": "",
    },
    "kubectl": {
        "": f"{_KUBECTL} !--kubeconfig= !--as= !--as-group= !-s: !--server= !--token=",
        "get": _KUBECTL_GET,
        "describe": f"{_KUBECTL} -A --all-namespaces -l: --selector= --show-events? --chunk-size=",
        "logs": f"{_KUBECTL} -f --follow -c: --container= --since= --since-time= --tail= --timestamps -p --previous -l:"
        " --selector= --all-containers --prefix --limit-bytes= --max-log-requests= --pod-running-timeout=",
        "top": f"{_KUBECTL} -A --all-namespaces -l: --selector= --containers --sort-by= --no-headers",
        "version": "--client --short -o: --output=",
        "explain": f"{_KUBECTL} --recursive --api-version=",
        "api-resources": f"{_KUBECTL} -o: --output= --namespaced? --verbs= --api-group= --no-headers",
        "api-versions": _KUBECTL,
        "cluster-info": _KUBECTL,
        "events": f"{_KUBECTL_GET} --for= --types=",
        "config": "",
        "config view": "--minify -o: --output=",
        "config current-context": "",
        "config get-contexts": "-o: --output= --no-headers",
        "config get-clusters": "",
        "auth can-i": f"{_KUBECTL} --list -q --quiet -A --all-namespaces",
        "rollout": _KUBECTL,
        "rollout status": f"{_KUBECTL} -w --watch? --timeout= --revision=",
        "rollout history": f"{_KUBECTL} -o: --output= --revision=",
        "exec": f"@named {_KUBECTL} -i --stdin -t --tty -c: --container= -q --quiet",
        "run": f"@named {_KUBECTL} --image= --rm -i --stdin -t --tty --restart= --labels= -l: --port= --env=",
        "apply": f"@named {_KUBECTL} -f: --filename= -k: --dry-run? --wait? -R --recursive --server-side",
        "diff": f"@named {_KUBECTL} -f: --filename= -R --recursive",
        "delete": f"@named {_KUBECTL} -f: --filename= -l: --selector= --all --force --grace-period= --wait? --timeout="
        " --ignore-not-found --now",
        "scale": f"@named {_KUBECTL} --replicas= --current-replicas= --timeout= -l: --selector=",
        "port-forward": f"@named {_KUBECTL} --address=",
    },
    "npm": {
        "": _NPM,
        **dict.fromkeys(["run", "run-script", "rum", "urn", "test", "t", "tst", "start", "stop", "restart"], _NPM),
        **dict.fromkeys(
            ["ls", "list", "ll", "la"], f"{_NPM} --depth= --all -a --long -l -p --parseable --omit= -g --global"
        ),
        **dict.fromkeys(
            ["view", "info", "show", "v", "outdated", "search", "explain", "why", "root", "prefix", "ping"], _NPM
        ),
        "audit": f"{_NPM} --audit-level= --omit= --production",
        "version": f"{_NPM} #0",
        "help": "",
        "ci": f"@named {_NPM} --ignore-scripts --no-audit --no-fund --prefer-offline --omit= --legacy-peer-deps",
        **dict.fromkeys(
            ["install", "i", "add"],
            f"@named {_NPM} -D --save-dev -S --save -P --save-prod -O --save-optional -E --save-exact --no-save"
            " --ignore-scripts --no-audit --no-fund --prefer-offline --omit= --legacy-peer-deps -g --global --dry-run",
        ),
        **dict.fromkeys(
            ["uninstall", "remove", "rm", "un"], f"@named {_NPM} -D --save-dev -S --save --no-save -g --global"
        ),
        "pack": f"@named {_NPM} --dry-run",
        "exec": f"@named @1 {_NPM} -y --yes --no",
        "x": f"@named @1 {_NPM} -y --yes --no",
    },
    "pip": {
        "": _PIP,
        "list": f"{_PIP} -o --outdated -u --uptodate -e --editable -l --local --user --pre --format= --not-required"
        " --exclude= --exclude-editable --include-editable",
        "show": f"{_PIP} -f --files",
        "freeze": f"{_PIP} -l --local --user --all --exclude= --exclude-editable",
        "check": _PIP,
        "debug": _PIP,
        "help": _PIP,
        "index": _PIP,
        "index versions": f"{_PIP} --pre",
        "cache": _PIP,
        "config": "@named",
        "install": f"@named {_PIP} -r: --requirement= -c: --constraint= -e: --editable= -U --upgrade"
        " --upgrade-strategy= --no-deps --pre --user --dry-run --force-reinstall -I --ignore-installed"
        " --no-build-isolation --only-binary="
        " --no-binary= --prefer-binary --require-hashes --no-cache-dir --no-warn-script-location --progress-bar=",
        "download": f"@named {_PIP} -r: --requirement= --no-deps --pre --only-binary=",
        "uninstall": f"@named {_PIP} -y --yes -r: --requirement=",
    },
    "pnpm": {
        "": "-v --version -s --silent",
        "*": f"@named {_NPM}",  # a name that is not a script runs a program
        **dict.fromkeys(["run", "run-script", "test", "t", "start"], _NPM),
        **dict.fromkeys(["list", "ls", "ll", "why", "outdated"], f"{_NPM} --depth= -g --global --long -P -D"),
        **dict.fromkeys(
            ["add", "install", "i", "remove", "update", "up"], f"@named {_NPM} -D -E -P --frozen-lockfile --offline"
        ),
        **dict.fromkeys(["exec", "dlx", "node", "create", "config", "set", "env", "patch"], f"@named @1 {_NPM}"),
    },
    "systemctl": {
        "": "-a --all -l --full --no-pager --no-legend --plain -q --quiet --user --system -n: --lines= -o: --output="
        " -t: --type= --state= -p: --property= --value --failed --version -r --recursive !-H: !--host= !-M: !--machine="
        " !--root=",
        **dict.fromkeys(
            _SYSTEMCTL_TELLING.split(),
            "-a --all -l --full --no-pager --no-legend --plain -q --quiet --user --system -n: --lines= -o: --output="
            " -t: --type= --state= -p: --property= --value --failed --reverse --after --before",
        ),
        **dict.fromkeys(
            ["start", "stop", "restart", "reload", "try-restart", "kill", "enable", "disable", "mask", "unmask"],
            "@named --user --system -q --quiet --no-block --now --no-pager -l --full",
        ),
        "daemon-reload": "@named --user --system",
    },
    "bundle": _RUNNER,
    "pipenv": _RUNNER,
    "poetry": _RUNNER,
    "rye": _RUNNER,
    "bun": {
        "": "-v --version",
        "run": "@named @1 --silent",
        "test": "-t: --test-name-pattern= --timeout= --bail? --watch --coverage --only --todo -u --rerun-each=",
        "install": "@named -D --dev --frozen-lockfile --production --no-save",
        "x": "@named @1",
        "pm": "@named",
    },
    "uv": {
        "": "-q --quiet -v --verbose -V --version --no-progress --offline",
        "run": "@1 -q --quiet --frozen --locked --no-sync --offline --no-progress --all-extras --dev --no-dev --extra="
        " --group=",
        "lock": "--check --locked -q --quiet --offline",
        "sync": "@named --frozen --locked --all-extras --dev --no-dev --extra= --group= -q --quiet --offline",
        "tree": "--depth= --frozen --locked -q --quiet --outdated",
        "pip": "-q --quiet",
        "pip list": "--format= --outdated -q --quiet",
        "pip show": "-f --files -q --quiet",
        "pip freeze": "-q --quiet",
        "pip check": "-q --quiet",
    },
    "yarn": {
        "": "-v --version -s --silent",
        "*": _NPM,
        **dict.fromkeys(
            ["add", "install", "remove", "up", "upgrade"], f"@named {_NPM} -D --dev -E --exact --frozen-lockfile"
        ),
        **dict.fromkeys(
            ["exec", "dlx", "node", "create", "config", "set", "plugin", "env", "patch"], f"@named @1 {_NPM}"
        ),
    },
}
"""By program: its options before the command (""), and those of each command. `@named`: covered only by a rule that
names the command."""

_JEST = (
    "-t: --testNamePattern= --testPathPattern= --testPathPatterns= --watch? --watchAll? --ci --coverage? -i --runInBand"
    " --verbose? --silent? --bail? -b -o --onlyChanged --onlyFailures -w: --maxWorkers= --passWithNoTests --no-cache"
    " --colors --color --forceExit --detectOpenHandles --listTests --findRelatedTests --json --no-coverage -u"
    " --updateSnapshot --lastCommit --changedSince= --shard= --logHeapUsage --expand -e --notify --showConfig"
)

RUNNERS = {
    "black": "--check --diff --color --no-color -l: --line-length= -t: --target-version= -q --quiet -v --verbose -S"
    " --skip-string-normalization -C --include= --exclude= --extend-exclude= --fast --safe --preview --version -W: -c:"
    " --pyi --ipynb",
    "eslint": "--ext= --fix --fix-dry-run --fix-type= --quiet --max-warnings= --no-eslintrc --color --no-color --cache"
    " --cache-strategy= --ignore-pattern= --no-ignore --report-unused-disable-directives --no-inline-config --rule="
    " --env= --global= --parser-options= --no-error-on-unmatched-pattern --debug --print-config= -h --help -v --version"
    " --no-warn-ignored --pass-on-no-patterns --stats",
    "jest": _JEST,
    "mocha": "-b --bail -g: --grep= -f: --fgrep= -i --invert -t: --timeout= -s: --slow= -w --watch -c --color -C"
    " --no-color"
    " -p --parallel -j: --jobs= --recursive --exit --check-leaks --forbid-only --forbid-pending --full-trace --dry-run"
    " --retries= --diff --no-diff --inline-diffs --sort -S --spec= --extension=",
    "mypy": "-v --verbose -V --version -m: --module= -p: --package= -c: --strict --ignore-missing-imports"
    " --namespace-packages"
    " --explicit-package-bases --follow-imports= --no-site-packages --python-version= --platform= --no-incremental"
    " --show-error-codes --hide-error-codes --show-error-context --show-column-numbers --pretty --no-pretty"
    " --no-color-output"
    " --no-error-summary --show-absolute-path --warn-unused-ignores --warn-unreachable --warn-return-any"
    " --warn-redundant-casts --disallow-untyped-defs --check-untyped-defs --disallow-any-generics"
    " --no-implicit-optional --strict-optional --exclude= --enable-error-code= --disable-error-code= --error-summary",
    "prettier": "-c --check -l --list-different -w --write --ignore-unknown -u --no-config --no-editorconfig"
    " --loglevel="
    " --log-level= --print-width= --tab-width= --use-tabs --single-quote --no-semi --trailing-comma= --parser= --color"
    " --no-color --end-of-line= --prose-wrap= --no-error-on-unmatched-pattern -v --version",
    "pytest": "-k: -m: -p: -W: --cov-report= -x -v -q -s -l -r: -n: --exitfirst --maxfail= --verbose --quiet"
    " --verbosity= --capture= --showlocals"
    " --no-showlocals --tb= --full-trace --color= --lf --last-failed --ff --failed-first --nf --new-first --sw"
    " --stepwise"
    " --sw-skip --co --collect-only --durations= --durations-min= --no-header --no-summary --disable-warnings --cov?"
    " --cov-append --cov-branch --no-cov --cov-fail-under= --no-cov-on-fail --numprocesses= --dist= --maxprocesses="
    " --strict --strict-markers --strict-config --markers --fixtures --fixtures-per-test --setup-show --setup-only"
    " --setup-plan --runxfail --import-mode= --deselect= --ignore= --ignore-glob= --keep-duplicates --cache-show?"
    " --show-capture= --timeout= --randomly-seed= --count= --reruns= --reruns-delay= --asyncio-mode="
    " --benchmark-only"
    " --benchmark-skip --snapshot-update --hypothesis-seed= --hypothesis-show-statistics --doctest-modules"
    " --doctest-glob= --doctest-continue-on-failure --doctest-ignore-import-errors -h --help -V --version"
    " --continue-on-collection-errors --no-successful-cases  --last-failed-no-failures= --noconftest",
    "ruff": "-q --quiet -v --verbose -s --silent -h --help -V --version --check --diff --fix --no-fix --unsafe-fixes"
    " --no-unsafe-fixes --show-fixes --select= --ignore= --extend-select= --extend-ignore= --output-format= -w --watch"
    " --statistics --no-cache -n -e --exit-zero --exit-non-zero-on-fix --target-version= --line-length= --preview"
    " --no-preview --exclude= --extend-exclude= --force-exclude --respect-gitignore --isolated --show-files"
    " --show-settings --per-file-ignores= --all --ignore-noqa --fix-only",
    "tsc": "@long -noEmit -p= -project= -b -build -w -watch -pretty -strict -skipLibCheck -target= -t= -module= -m="
    " -lib= -jsx= -esModuleInterop -allowJs -checkJs -version -v -help -h -listFiles -listFilesOnly -traceResolution"
    " -showConfig -force -f -dry -d -verbose -diagnostics -extendedDiagnostics -preserveWatchOutput -isolatedModules"
    " -moduleResolution= -noUnusedLocals -noUnusedParameters -noImplicitAny -strictNullChecks -resolveJsonModule"
    " -incremental",
    "vitest": "-t: --testNamePattern= --run -u --update -w --watch --silent? --ui? --coverage? --bail= --retry="
    " --no-color --passWithNoTests --changed? --dir= --hideSkippedTests --shard= --project= --allowOnly --testTimeout="
    " --no-coverage --color --maxWorkers= --no-file-parallelism --sequence.shuffle --related",
}
"""Options of linters, formatters and test runners."""

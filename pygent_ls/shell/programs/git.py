"""Safe options of git's commands, from `git COMMAND -h` and the manual pages of git 2.39 to 2.47.

Left out are options that run a program, load settings, follow a repository elsewhere, or write a named file.
"""

from __future__ import annotations

GLOBAL = "--no-pager -P --version -v --help -h --literal-pathspecs --no-optional-locks !-c: !-C: !--git-dir="

_FORMAT = (
    "-p -u --patch -s --no-patch --raw --stat? --numstat --shortstat --dirstat? --cumulative --summary"
    " --compact-summary"
    " --patch-with-stat --patch-with-raw -z --name-only --name-status --color? --no-color --color-words? --word-diff?"
    " --word-diff-regex= --color-moved? --no-color-moved --color-moved-ws= -w -b --ignore-all-space"
    " --ignore-space-change"
    " --ignore-space-at-eol --ignore-cr-at-eol --ignore-blank-lines -I: -U: --unified= -W --function-context"
    " --inter-hunk-context= --minimal --patience --histogram --diff-algorithm= --anchored= --indent-heuristic"
    " --no-renames"
    " -M:: -C:: -B:: -D -R -S: -G: -l: --find-renames? --find-copies? --find-copies-harder --rename-empty --pickaxe-all"
    " --pickaxe-regex --diff-filter= --relative? --no-relative -a --text --full-index --binary --abbrev? --no-abbrev"
    " --exit-code --check --no-ext-diff --no-textconv --ignore-submodules? --submodule? --src-prefix= --dst-prefix="
    " --no-prefix --no-indent-heuristic --ita-invisible-in-index --quiet -q --stat-width= --stat-name-width="
    " --stat-count= --find-object= --no-exit-code --skip-to= --rotate-to= --merge-base --cached --staged --cc -c -m"
    " --combined-all-paths --diff-merges= -t --line-prefix="
)
_REVISIONS = (
    "--oneline --graph --decorate? --no-decorate --decorate-refs= --decorate-refs-exclude= --all --branches? --tags?"
    " --remotes? --glob= --exclude= -n: -0123456789 --max-count= --skip= --since= --after= --until= --before= --author="
    " --committer= --grep= --invert-grep --all-match -i --regexp-ignore-case -E --extended-regexp -F --fixed-strings"
    " --perl-regexp --merges --no-merges --first-parent --not --reverse --date-order --topo-order --author-date-order"
    " --follow --full-diff --format= --pretty? --abbrev-commit --no-abbrev-commit --date= --relative-date --parents"
    " --children --left-right --left-only --right-only --cherry --cherry-pick --cherry-mark --boundary"
    " --simplify-merges"
    " --simplify-by-decoration --full-history --dense --sparse --ancestry-path? --show-pulls -g --walk-reflogs --notes?"
    " --no-notes --encoding= --source --no-walk? --log-size -L: --mailmap --use-mailmap --no-mailmap --count --objects"
    " --min-parents= --max-parents= --no-min-parents --no-max-parents --timestamp --no-commit-header --expand-tabs?"
    " --reflog --single-worktree --ignore-missing --bisect --show-linear-break?"
)
_LIST = "-l --list --sort= --format= --contains= --no-contains= --merged? --no-merged? --points-at= --color? --column?"
_FETCH = (
    "-q --quiet -v --verbose --progress --no-progress --all -p --prune -P --prune-tags -t --tags --no-tags -n -f"
    " --force"
    " --depth= --deepen= --unshallow --shallow-since= --dry-run -k --keep -4 -6 --ipv4 --ipv6 -j: --jobs= -a --append"
    " --atomic --no-recurse-submodules --filter= --no-auto-maintenance -m --multiple"
)

COMMANDS = {
    "add": "-n --dry-run -v --verbose -f --force -A --all --no-all -u --update -N --intent-to-add --refresh"
    " --ignore-errors --ignore-missing --renormalize --chmod= -p --patch -i --interactive",
    "annotate": "-l -t -s -n -e -w -p -L: -M:: -C::",
    "apply": "--check --stat --numstat --summary -R --reverse --cached --index -3 --3way -p: -v --verbose -q --quiet"
    " --recount --whitespace= -C: --include= --exclude=",
    "archive": "!-o: !--output= --format= --prefix= -v --verbose -l --list !--exec=",
    "bisect start": "--no-checkout --first-parent",
    "bisect good": "",
    "bisect bad": "",
    "bisect new": "",
    "bisect old": "",
    "bisect skip": "",
    "bisect log": "",
    "bisect reset": "",
    "blame": "-l -t -s -n -f -e -w -c -b -p -L: -M:: -C:: --show-name --show-number --show-email --porcelain"
    " --line-porcelain --root --show-stats --color-lines --color-by-age --date= --since= --abbrev= --first-parent"
    " --reverse --score-debug --minimal --ignore-rev=",
    "branch": f"{_LIST} -a --all -r --remotes -v --verbose -q --quiet -d --delete -D -m --move -M -c --copy -C -f"
    " --force -t --track? --no-track -u: --set-upstream-to= --unset-upstream --show-current -i --ignore-case --no-color"
    " --abbrev? --no-abbrev --no-column --create-reflog --omit-empty",
    "cat-file": "-t -s -e -p --batch? --batch-check? --batch-command? --batch-all-objects --buffer --unordered"
    " --follow-symlinks",
    "check-attr": "-a --all --stdin -z --cached",
    "check-ignore": "-q --quiet -v --verbose --stdin -z -n --non-matching --no-index",
    "check-ref-format": "--branch --normalize --allow-onelevel",
    "checkout": "-b: -B: -q --quiet --progress --no-progress -f --force -t --track? --no-track -d --detach -p --patch"
    " --ours --theirs -m --merge --conflict= --orphan= -l --guess --no-guess --no-overlay --overlay"
    " --no-recurse-submodules",
    "cherry": "-v --abbrev?",
    "cherry-pick": "-n --no-commit -x -m: --mainline= -s --signoff --continue --abort --skip --quit --ff --allow-empty"
    " --allow-empty-message --keep-redundant-commits -X: --strategy-option=",
    "clean": "-n --dry-run -f --force -d -x -X -q --quiet -e: --exclude=",
    "clone": "-q --quiet -v --verbose --progress --depth= --shallow-since= --shallow-exclude= --single-branch"
    " --no-single-branch -b: --branch= -o: --origin= -n --no-checkout --bare --mirror --no-tags --filter= --sparse"
    " --no-hardlinks -l --local --no-local -4 -6 --ipv4 --ipv6 -j: --jobs= --reject-shallow --no-recurse-submodules"
    " !-u: !--upload-pack= !-c: !--config= !--template=",
    "commit": "-a --all -m: --message= -q --quiet -v --verbose --amend --no-edit --dry-run --short --branch --porcelain"
    " --long -z --null --status --no-status -s --signoff --no-signoff --allow-empty --allow-empty-message --author="
    " --date= --reset-author -C: --reuse-message= --fixup= --squash= -i --include -o --only -u:: --untracked-files?"
    " --no-gpg-sign --cleanup= --trailer= -p --patch -e --edit -c:",
    "config": "--get --get-all --get-regexp --get-urlmatch --get-color= -l --list --show-origin --show-scope"
    " --name-only --global --local --system --worktree -z --null --type= --bool --int --path --default=",
    "count-objects": "-v --verbose -H --human-readable",
    "describe": "--all --tags --long --always --abbrev= --dirty? --broken? --exact-match --match= --exclude= --contains"
    " --candidates= --first-parent --debug",
    "diff": f"{_FORMAT} -0123456789 --base --ours --theirs",
    "diff-files": _FORMAT,
    "diff-index": _FORMAT,
    "diff-tree": f"{_FORMAT} {_REVISIONS} -r --root --no-commit-id -v --stdin --always",
    "difftool": "@named #0",
    "fetch": f"{_FETCH} !--upload-pack=",
    "filter-branch": "@named #0",
    "for-each-ref": f"{_LIST} --count= --shell --perl --python --tcl --ignore-case --exclude=",
    "fsck": "--full --no-full --strict -v --verbose --progress --no-progress --lost-found --unreachable --dangling",
    "gc": "-q --quiet --auto --no-prune",
    "grep": "--cached --untracked --no-exclude-standard --exclude-standard -a --text -i --ignore-case -I --max-depth="
    " -r --recursive --no-recursive -w --word-regexp -v --invert-match -h -H --full-name -E --extended-regexp -G"
    " --basic-regexp -P --perl-regexp -F --fixed-strings -n --line-number --column -l --files-with-matches --name-only"
    " -L --files-without-match -z --null -o --only-matching -c --count --color? --no-color --break --heading -p"
    " --show-function -C: --context= -A: --after-context= -B: --before-context= -W --function-context -m: --max-count="
    " --threads= -e: --and --or --not --all-match -q --quiet --no-textconv --recurse-submodules -0123456789",
    "hash-object": "-t: -w --stdin --no-filters",
    "help": "-a --all -g --guides",
    "init": "-q --quiet -b: --initial-branch= --bare --object-format= #1",
    "log": f"{_FORMAT} {_REVISIONS}",
    "ls-files": "-c --cached -d --deleted -m --modified -o --others -i --ignored -s --stage -u --unmerged -k --killed"
    " -z -t -v -x: --exclude= --exclude-standard --error-unmatch --full-name --abbrev? --directory --no-empty-directory"
    " --eol --deduplicate --format= --with-tree= --recurse-submodules",
    "ls-remote": "-q --quiet --heads --tags --refs -h -t -b --branches --get-url --sort= --exit-code --symref",
    "ls-tree": "-d -r -t -l --long -z --name-only --name-status --object-only --full-name --full-tree --abbrev?"
    " --format=",
    "merge": "-n --stat --no-stat -q --quiet -v --verbose --squash --no-squash --commit --no-commit -e --edit --no-edit"
    " --ff --no-ff --ff-only -m: --message= -X: --strategy-option= --abort --continue --quit --no-gpg-sign"
    " --allow-unrelated-histories --progress --signoff --no-signoff --autostash --no-autostash --no-verify-signatures",
    "merge-base": "-a --all --octopus --independent --is-ancestor --fork-point",
    "mergetool": "@named #0",
    "mv": "-v --verbose -n --dry-run -f --force -k --sparse",
    "name-rev": "--tags --refs= --exclude= --all --name-only --no-undefined --always",
    "notes": "--ref=",
    "prune": "-n --dry-run -v --verbose --expire=",
    "pull": f"{_FETCH} --rebase? -r:: --no-rebase --ff --ff-only --no-ff --stat --no-stat --commit --no-commit --squash"
    " --autostash --no-autostash --edit --no-edit -X: --allow-unrelated-histories !--upload-pack=",
    "push": "-q --quiet -v --verbose --progress -u --set-upstream --all --branches --tags --follow-tags"
    " --no-follow-tags"
    " -n --dry-run -f --force --force-with-lease? --force-if-includes -d --delete --prune --atomic --porcelain --mirror"
    " --no-thin --thin -4 -6 --ipv4 --ipv6 -o: --push-option= --no-signed !--receive-pack= !--exec=",
    "range-diff": f"{_FORMAT} --creation-factor= --no-dual-color --left-only --right-only",
    "rebase": "--onto= --continue --abort --skip --quit -q --quiet -v --verbose --stat -n --no-stat --keep-base --root"
    " --autosquash --no-autosquash --autostash --no-autostash --fork-point --no-fork-point --ff --no-ff -f"
    " --force-rebase --signoff --committer-date-is-author-date -X: --strategy-option= -r --rebase-merges? --empty="
    " --reapply-cherry-picks --no-reapply-cherry-picks --update-refs --no-update-refs --show-current-patch -i"
    " --interactive !-x: !--exec=",
    "reflog": f"{_FORMAT} {_REVISIONS}",
    "remote": "-v --verbose -n --all --push --prune -p --dry-run -f -t: -m: --tags --no-tags",
    "reset": "-q --quiet --mixed --soft --hard --merge --keep -p --patch -N --intent-to-add --no-refresh --refresh",
    "restore": "-s: --source= -S --staged -W --worktree -q --quiet --progress --no-progress --ours --theirs -m --merge"
    " --conflict= -p --patch --overlay --no-overlay --ignore-unmerged",
    "rev-list": f"{_FORMAT} {_REVISIONS}",
    "rev-parse": f"{_REVISIONS} --show-toplevel --show-prefix --show-cdup --git-dir --absolute-git-dir --git-common-dir"
    " --git-path= --is-inside-work-tree --is-inside-git-dir --is-bare-repository --is-shallow-repository --verify -q"
    " --quiet --short? --abbrev-ref? --symbolic --symbolic-full-name --show-object-format? --path-format="
    " --show-superproject-working-tree --revs-only --no-revs --flags --no-flags --sq --default= --prefix=",
    "revert": "-n --no-commit -m: --mainline= -e --edit --no-edit -s --signoff --continue --abort --skip --quit"
    " --no-gpg-sign --reference",
    "rm": "-n --dry-run -q --quiet --cached -f --force -r --ignore-unmatch --sparse",
    "shortlog": f"{_REVISIONS} -s --summary -e --email -c --committer -w:: --group=",
    "show": f"{_FORMAT} {_REVISIONS}",
    "show-branch": "-a --all -r --remotes --current --topo-order --date-order --list --independent --merge-base",
    "show-ref": "--heads --tags --head -d --dereference -s --hash? --verify -q --quiet --abbrev? --exclude-existing?",
    "stash": "-q --quiet -u --include-untracked -a --all -k --keep-index --no-keep-index -S --staged -m: --message= -p"
    " --patch #0",
    "stash apply": "-q --quiet --index",
    "stash branch": "",
    "stash clear": "",
    "stash create": "",
    "stash drop": "-q --quiet",
    "stash list": f"{_FORMAT} {_REVISIONS}",
    "stash pop": "-q --quiet --index",
    "stash push": "-q --quiet -u --include-untracked -a --all -k --keep-index --no-keep-index -S --staged -m:"
    " --message= -p --patch",
    "stash show": f"{_FORMAT} -u --include-untracked --only-untracked",
    "status": "-s --short -b --branch --no-branch --show-stash --porcelain? --long -v --verbose -u:: --untracked-files?"
    " --ignore-submodules? --ignored? -z --column? --no-column --ahead-behind --no-ahead-behind --renames --no-renames"
    " --find-renames?",
    "submodule init": "",
    "submodule status": "--recursive --cached -q --quiet",
    "submodule summary": "",
    "submodule sync": "--recursive -q --quiet",
    "submodule update": "--init --recursive -q --quiet --depth= -j: --jobs= --progress --no-fetch -f --force",
    "switch": "-c: --create= -C: --force-create= -d --detach -q --quiet --progress --no-progress -f --force"
    " --discard-changes -m --merge --conflict= -t --track? --no-track --orphan= --guess --no-guess"
    " --no-recurse-submodules",
    "symbolic-ref": "-q --quiet --short #1",
    "tag": f"{_LIST} -n:: -a --annotate -m: --message= -d --delete -f --force -i --ignore-case --no-sign"
    " --create-reflog",
    "update-index": "-q --refresh --really-refresh --assume-unchanged --no-assume-unchanged --skip-worktree"
    " --no-skip-worktree --chmod=",
    "var": "-l",
    "version": "--build-options",
    "whatchanged": f"{_FORMAT} {_REVISIONS}",
    "worktree add": "-b: -B: -d --detach -f --force --checkout --no-checkout -q --quiet --lock --reason= --track"
    " --no-track --guess-remote",
    "worktree list": "-v --porcelain -z --expire=",
    "worktree lock": "--reason=",
    "worktree move": "-f --force",
    "worktree prune": "-n --dry-run -v --expire=",
    "worktree remove": "-f --force",
    "worktree repair": "",
    "worktree unlock": "",
}

"""Safe options of system programs, from their manual pages (GNU, and BSD and macOS where these differ).

Left out are options that run a program, write a file, load settings or read a list of options from elsewhere, and
letters that take a value on some systems only.
"""

from __future__ import annotations

from pygent_ls.shell.programs.toolchains import RUNNERS

WRAPPERS = {
    "sudo": "@1 -n -H -k -K -v -l -S -V -u: -g: --non-interactive --user= --group= !-h: !-p: !-C: !-r: !-t: !-T: !-U:"
    " !-D: !-R: !--host= !--prompt= !--chdir= !--chroot= !--close-from= !-E !-A !-b !-i !-s !-e",
    "doas": "@1 -n -L -u: !-C: !-a: !-s",
    "pkexec": "@1 --user=",
    "env": "@1 -i -0 -v -u: --ignore-environment --null --debug --unset= !-C: !--chdir= !-S: !--split-string=",
    "nohup": "@1",
    "setsid": "@1 -c -f -w --ctty --fork --wait",
    "time": "@1 -p -v -q -f: --portability --verbose --quiet --format= !-a !-o: !--output= !--append",
    "command": "@1 -p -v -V",
    "builtin": "@1",
    "exec": "@1 !-a: !-c !-l",
    "coproc": "@1",
    "nice": "@1 -n: --adjustment= -0123456789",
    "ionice": "@1 -c: -n: -t --class= --classdata= --ignore",
    "chrt": "@1 -b -f -i -o -r -v -m !-T: !-P: !-D:",
    "taskset": "@1 -c --cpu-list",
    "timeout": "@1 -k: -s: -v --kill-after= --signal= --preserve-status --foreground --verbose",
    "stdbuf": "@1 -i: -o: -e: --input= --output= --error=",
    "unbuffer": "@1 !-p",
    "xargs": "@1 -0 -r -t -x -n: -P: -L: -d: -s: -I: -E: --null --no-run-if-empty --verbose --exit --max-args="
    " --max-procs= --max-chars= --delimiter= --show-limits -a: --arg-file= !-i:: !-e:: !-l:: !--replace? !--eof?"
    " !--max-lines? !--process-slot-var= !-J: !-R: !-S: !-p !-o",
    "parallel": "@1 -k --keep-order --bar --dry-run --halt= -j: --jobs= -n: --no-run-if-empty -r -q --will-cite !-a:"
    " !--arg-file= !-I: !-N: !-S: !--joblog= !--delay= !--timeout=",
    "strace": "@1 -f -ff -c -C -q -qq -r -t -tt -T -v -x -y -yy -e: -p: -s: -a: !-u: !-o: !-E: !-P: !-b: !-I: !-O:"
    " !-S: !-U: !-X:",
    "ltrace": "@1 -f -c -C -r -t -T -S -e: -p: -s: -n: -a: !-u: !-o: !-l: !-x: !-F: !-D: !-w:",
    "chroot": "@1 #0 !--userspec= !--groups= !--skip-chdir",
    "unshare": "@1 -r -n -m -p -f -u -U -i -C --fork --net --pid !-S: !-G: !-R: !-w: !--root= !--wd=",
    "nsenter": "@1 -n -m -p -u -i -C -U -F -t: --target= !-S: !-G: !-r !-w !-a",
    "systemd-run": "@1 --user --scope -q --quiet -d -P -t --pty --pipe --wait -G -u: --unit= !-p: !--property= !-M:"
    " !--uid= !--gid= !-H: !-E: !--setenv= !--working-directory=",
    "busybox": "@1",
    "toybox": "@1",
    "fakeroot": "@1 !-l: !-s: !-i: !-b: !-f: !--lib= !--faked=",
    "firejail": "@1 --noprofile --net? --quiet",
    "gosu": "@1",
    "su-exec": "@1",
    "setpriv": "@1 --nnp --no-new-privs --reuid= --regid= --clear-groups --init-groups",
    "caffeinate": "@1 -d -i -m -s -u -t: -w:",
    "dbus-run-session": "@1 !--config-file= !--dbus-daemon=",
    "xvfb-run": "@1 -a --auto-servernum -n: --server-num= !-s: !--server-args= !-e: !--error-file= !-f: !--auth-file="
    " !-p:",
    "noglob": "@1",
    "nocorrect": "@1",
    "npx": "@1 -y --yes --no --no-install -q --quiet !-p: !--package= !-c: !--call= !-w: !--workspace=",
}
"""Programs that run the command after their options."""

PROGRAMS = {
    **WRAPPERS,
    **RUNNERS,
    "ack": "-i -v -w -c -l -L -n -H -h -o -s -Q -A: -B: -C: -m: -t: -T: -r -R --ignore-case --invert-match"
    " --word-regexp --count --nocolor --color --group --nogroup --heading --noheading --column --ignore-dir= --literal",
    "ag": "-i -v -w -c -l -L -n -H -o -s -S -Q -a -u -U -A:: -B:: -C:: -m: -G: -0 --hidden --nocolor --color --column"
    " --ignore= --literal --nogroup --group --nobreak --nofilename --vimgrep --count --depth=",
    "awk": "-F: -v: !-f: !--file= --posix --traditional --lint --field-separator= --assign= !-i: !-l: !-E: !-e:",
    "base32": "-d -D -w: --decode --wrap= --ignore-garbage #1",
    "base64": "-d -D -w: --decode --wrap= --ignore-garbage #1",
    "csplit": "-k -q -s -z -n: --digits= --keep-files --quiet --silent --elide-empty-files --suppress-matched",
    "curl": "-s -S -L -f -I -i -v -G -k -N -g -4 -6 -0 -# -X: -H: -A: -e: -u: -m: -r: -d: -F: --silent --show-error"
    " --location --fail --fail-with-body --head --include --verbose --get --insecure --no-buffer --globoff --ipv4"
    " --ipv6"
    " --http1.1 --http2 --http3 --request= --header= --user-agent= --referer= --user= --max-time= --range= --data="
    " --data-raw= --data-urlencode= --json= --form= --form-string= --compressed --connect-timeout= --retry="
    " --retry-delay="
    " --retry-connrefused --max-redirs= --url= --no-progress-meter --progress-bar --tlsv1.2 --path-as-is !-o: !-O !-J"
    " !-T: !-K: !-D: !-c: !-b: !-E: !-w: !-x: !--output= !--config= !--write-out=",
    "date": "-u -R -I:: -d: -r: --date= --utc --universal --iso-8601? --rfc-3339= --rfc-email --reference= --debug",
    "apt": "-y -q -s -d --yes --quiet --simulate --dry-run --no-install-recommends --download-only --installed"
    " --upgradable",
    "dc": "-V --version",
    "dd": "",
    "diff3": "-a -A -e -E -i -m -T -x -X -3 -L: --merge --text --show-all --label=",
    "expect": "-v --version #0",
    "fd": "-H -I -u -s -i -g -F -a -L -p -0 -1 -q -e: -t: -E: -d: -c: -S: -j: -o: --hidden --no-ignore --unrestricted"
    " --case-sensitive --ignore-case --glob --regex --fixed-strings --absolute-path --follow --full-path --print0"
    " --max-depth= --min-depth= --exact-depth= --exclude= --type= --extension= --size= --changed-within="
    " --changed-before="
    " --max-results= --color= --threads= --no-ignore-vcs --prune --one-file-system --strip-cwd-prefix --quiet",
    "find": "",
    "file": "-b -i -L -h -k -p -r -s -0 -N -E -F: -e: --brief --mime --mime-type --mime-encoding --dereference"
    " --no-dereference --keep-going --raw --no-pad --separator= --exclude= --extension -v --version",
    "gnuplot": "-V --version",
    "gdb": "-v --version -h --help #0",
    "hostname": "-a -A -d -f -i -I -s -y --alias --all-fqdns --domain --fqdn --ip-address --short --long #0",
    "jq": "-c -r -n -s -S -e -a -j -M -C -R -h -V --arg== --argjson== --args --jsonargs --tab --indent= --raw-output"
    " --raw-output0 --compact-output --slurp --null-input --exit-status --sort-keys --raw-input --ascii-output"
    " --join-output --color-output --monochrome-output --unbuffered --stream --stream-errors --seq --help --version"
    " !-f: !--from-file= !-L: !--rawfile== !--slurpfile==",
    "ip": "@long -4 -6 -s -stats -statistics -d -details -j -json -p -pretty -o -oneline -r -resolve -br -brief -c"
    " -color? -t -timestamp -h -human -V",
    "less": "-N -S -R -r -F -X -i -I -n -e -E -m -M -s -q -Q -f -g -G -w -W -J -V -x: -p: -j: -z: -h: -b:"
    " --LINE-NUMBERS --chop-long-lines --RAW-CONTROL-CHARS --quit-if-one-screen --no-init --ignore-case --version",
    "m4": "--version",
    "make": "-B -b -d -i -j:: -k -l:: -L -m -n -O:: -p -q -r -R -s -S -t -v -w --always-make --debug? --dry-run"
    " --just-print"
    " --recon --ignore-errors --jobs? --keep-going --load-average? --max-load? --check-symlink-times --output-sync?"
    " --print-data-base --question --no-builtin-rules --no-builtin-variables --silent --quiet --no-silent"
    " --no-keep-going --stop --touch --trace --version --print-directory --no-print-directory"
    " --warn-undefined-variables !-e !-C: !-E: !-f: !-I: !-o: !-W: !--eval= !--file= !--makefile= !--directory="
    " !--include-dir=",
    "man": "-a -f -k -w -W -i -I -7 -d --all --whatis --apropos --where --path --location --no-hyphenation -s:"
    " --sections= --no-justification",
    "mysql": "-V --version",
    "nc": "-z -v -n -u -4 -6 -w:",
    "ninja": "-j: -k: -l: -n -v --quiet --version",
    "openssl": "@long -in= -noout -text -subject -issuer -dates -enddate -startdate -serial -fingerprint -pubkey"
    " -modulus -connect= -servername= -showcerts -inform= -check -hex -base64 -sha256 -sha1 -md5 -sha512 -a -v -d"
    " -purpose -email -ocsp_uri -hash -brief -tls1_2 -tls1_3 -alpn= -nameopt= -certopt= -ext= -verify",
    "patch": "-p: -i: -R -N -s -f -t -E -l -F: -u -c -n --strip= --input= --reverse --forward --dry-run --verbose"
    " --batch --force --fuzz= --silent --quiet",
    "psql": "-l -V -t -A -q -x -X -w -n -h: -p: -U: -d: -F: -R: -P: --list --version --tuples-only --no-align --quiet"
    " --expanded --no-psqlrc --no-password --host= --port= --username= --dbname= --csv --html #2",
    "rg": "-a -c -F -h -H -i -I -l -L -n -N -o -p -P -q -s -S -u -U -v -V -w -x -0 -A: -B: -C: -d: -e: -E: -f: -g:"
    " -j: -M:"
    " -m: -r: -t: -T: -. --after-context= --before-context= --context= --text --count --count-matches --fixed-strings"
    " --no-filename --with-filename --ignore-case --files-with-matches --files-without-match --follow --line-number"
    " --no-line-number --only-matching --pretty --pcre2 --quiet --case-sensitive --smart-case --unrestricted"
    " --multiline"
    " --multiline-dotall --invert-match --version --word-regexp --line-regexp --null --null-data --max-depth="
    " --maxdepth="
    " --regexp= --encoding= --file= --glob= --iglob= --threads= --max-columns= --max-columns-preview --max-count="
    " --max-filesize= --replace= --type= --type-not= --type-list --type-add= --type-clear= --hidden --no-hidden"
    " --no-ignore --no-ignore-vcs --no-ignore-parent --no-ignore-global --no-ignore-dot --no-ignore-files --no-messages"
    " --no-heading"
    " --heading --color= --colors= --column --no-column --crlf --files --json --stats --sort= --sortr= --sort-files"
    " --trim --vimgrep --passthru --engine= --auto-hybrid-regex --binary --byte-offset --block-buffered --line-buffered"
    " --context-separator= --no-context-separator --dfa-size-limit= --regex-size-limit= --include-zero --no-config"
    " --no-mmap --mmap --no-unicode --one-file-system --path-separator= --field-match-separator="
    " --field-context-separator= --debug --help --no-pcre2-unicode --stop-on-nonmatch",
    "rsync": "-a -v -z -h -n -u -r -l -t -g -o -p -D -H -A -X -x -c -i -q -R -d -m -C -L -k -K -S -W -y -I -8 -4 -6"
    " -P --archive"
    " --verbose --compress --human-readable --dry-run --update --recursive --links --times --perms --checksum"
    " --itemize-changes --quiet --relative --progress --stats --exclude= --include= --max-size= --min-size= --bwlimit="
    " --timeout= --ipv4 --ipv6 --no-perms --no-owner --no-group --existing --ignore-existing --size-only --whole-file"
    " --partial --info= --numeric-ids --list-only --prune-empty-dirs --cvs-exclude --one-file-system --no-motd !-e:"
    " !--rsh= !--rsync-path= !-T: !-M: !-f: !-B: !-s !-F !-b",
    "scp": "-3 -4 -6 -B -C -p -q -r -R -T -v -P: -l: -i: -c: !-o: !-S: !-F: !-D: !-J: !-X: !-O !-s !-A",
    "script": "!-c: !--command= #0",
    "screen": "#0",
    "sdiff": "-i -E -b -W -B -a -l -s -d -t -H -w: --ignore-case --suppress-common-lines --left-column --width= --text",
    "sed": "-n -E -r -s -u -z -e: --quiet --silent --regexp-extended --separate --unbuffered --null-data --posix"
    " --sandbox --expression= --version --help !-f: !--file= !-i:: !--in-place? !-l:",
    "sftp": "#0 !-b: !-D: !-F: !-J: !-o: !-S: !-P: !-i:",
    "shuf": "-e -r -z -n: -i: --echo --repeat --zero-terminated --head-count= --input-range= !-o: !--output=",
    "socat": "-V #0",
    "sort": "-b -d -f -g -i -M -h -n -R -r -V -c -C -m -s -u -z -k: -t: -S: --ignore-leading-blanks --dictionary-order"
    " --ignore-case --general-numeric-sort --ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort"
    " --random-sort --reverse --sort= --version-sort --batch-size= --check? --debug --files0-from= --key= --merge"
    " --stable --buffer-size= --field-separator= --parallel= --unique --zero-terminated !-o: !-T: !--output="
    " !--temporary-directory= !--compress-program=",
    "split": "-d -x -e -u -a: -b: -C: -l: -n: -t: --suffix-length= --additional-suffix= --bytes= --line-bytes="
    " --numeric-suffixes? --hex-suffixes? --elide-empty-files --lines= --number= --separator= --unbuffered --verbose"
    " !--filter=",
    "sqlite3": "@long -readonly -header -noheader -csv -column -json -line -list -box -table -markdown -html -quote"
    " -tabs -separator= -nullvalue= -batch -bail -version -safe -ascii #2",
    "ssh": "@2 -4 -6 -a -C -k -n -N -q -T -t -v -V -x -p: -l: -i: -b: -o: !-B: !-c: !-D: !-E: !-e: !-F: !-I: !-J:"
    " !-L: !-m: !-O: !-P: !-Q: !-R: !-S: !-W: !-w: !-A !-f !-G !-g !-K !-M !-s !-X !-Y !-y",
    "tar": "@old -t -x -c -r -u -v -z -j -J -a -p -m -k -h -O -w -f: -C: --list --extract --get --create --append"
    " --update --verbose --gzip --bzip2 --xz --zstd --auto-compress --preserve-permissions --touch --keep-old-files"
    " --dereference"
    " --to-stdout --file= --directory= --exclude= --exclude-vcs --strip-components= --wildcards --no-wildcards"
    " --no-same-owner --no-same-permissions --same-owner --numeric-owner --owner= --group= --mtime= --sort= --full-time"
    " --totals --no-recursion --one-file-system --transform= --xform= --exclude-vcs-ignores --anchored --ignore-case"
    " !-I: !-F: !-T: !-X: !-K: !-N: !-L: !-b: !-g: !-H: !-V: !-P",
    "tcpdump": "-A -D -e -l -n -N -q -t -v -x -X -i: -c: -r: -s: -#",
    "tmux": "-V #0",
    "tree": "-a -d -f -i -l -x -s -h -u -g -p -D -F -C -n -N -Q -q -S -A -J -X -U -r -t -c -v -L: -P: -I: --dirsfirst"
    " --filesfirst --noreport --prune --gitignore --matchdirs --ignore-case --filelimit= --du --si --charset="
    " --timefmt= --inodes --device --sort= --version --help --metafirst",
    "uniq": "-c -d -D -i -u -z -f: -s: -w: --count --repeated --all-repeated? --ignore-case --skip-fields="
    " --skip-chars= --unique --zero-terminated --check-chars= --group? #1",
    "unzip": "-l -v -p -q -o -n -t -Z -j -u -d: -C -L -a -c",
    "vi": "--version #0",
    "watch": "-n: -d:: -t -g -e -b -c -w -p -q: --interval= --differences? --no-title --chgexit --errexit --beep"
    " --color",
    "wget": "-q -nv -c -S -N -4 -6 -v -t: -T: -U: -w: -O: --quiet --no-verbose --continue --server-response"
    " --timestamping"
    " --spider --tries= --timeout= --user-agent= --wait= --max-redirect= --no-check-certificate --header="
    " --show-progress"
    " --no-clobber --inet4-only --inet6-only --method= --content-on-error --progress= !-o: !-a: !-P: !-e: !-i: !-x !-r"
    " !--output-document=",
    "xxd": "@1 -a -b -C -e -E -h -i -p -u -v -c: -g: -l: -n: -o: -s:  #1",
    "yq": "-r -P -M -C -e -N -n -j -y -c -o: -p: -I: --prettyPrint --no-colors --colors --exit-status --no-doc"
    " --null-input --output-format= --input-format= --indent= --raw-output --unwrapScalar? --tojson !-i !--inplace !-f:"
    " !--from-file=",
    "zip": "-r -q -v -j -y -0123456789 -u -f -g -l -o -D -X --recurse-paths --quiet --verbose --junk-paths --symlinks",
    "flock": "!-c: !--command= -n -s -x -e -u -o -w: -E: --nonblock --shared --exclusive --timeout= --wait= -v"
    " --verbose @2",
    "entr": "@1 -c -d -n -p -r -z",
    "su": "#0 !-c: !--command=",
    "7z": "-y -r -bd",
    "gpg": "-v -q --list-keys --list-secret-keys -k -K --verify --fingerprint --version --with-colons --batch --no-tty",
}

ALIASES = {
    **dict.fromkeys(["gawk", "mawk", "nawk", "original-awk"], "awk"),
    **dict.fromkeys(["gsed", "ssed"], "sed"),
    **dict.fromkeys(["gtar", "bsdtar"], "tar"),
    **dict.fromkeys(["gmake", "remake"], "make"),
    **dict.fromkeys(["vim", "nvim", "view", "vimdiff", "ex", "ed", "emacs", "nano", "pico", "rview", "gvim"], "vi"),
    **dict.fromkeys(["python", "python2", "python3", "pypy", "pypy3"], "python"),
    "apt-get": "apt",
    "bunx": "npx",
    **{f"pip3{minor}": "pip" for minor in ("", *(f".{n}" for n in range(8, 16)))},
    "fdfind": "fd",
    "gdate": "date",
    "gfind": "find",
    "gsort": "sort",
    "gsplit": "split",
    "gtimeout": "timeout",
    "gxargs": "xargs",
    "mariadb": "mysql",
    "ncat": "nc",
    "netcat": "nc",
    "podman": "docker",
    "pnpx": "npx",
    "py.test": "pytest",
    "ripgrep": "rg",
    "runuser": "su",
    "sg": "su",
}
"""Programs that take the same words as another one."""

VALUES = {
    "cargo": {"--target": r"[a-z0-9_]+(-[a-z0-9_]+)+"},
    "curl": {
        **dict.fromkeys(["-d", "--data", "--json", "-H", "--header"], r"[^@].*|"),
        "--data-urlencode": r"[^@]*",
        **dict.fromkeys(["-F", "--form"], r"[^=;]+=[^@<(;][^;]*"),
        "--url": r"(https?://|[\w.-]+(:\d+)?(/|$)).*",
    },
    "less": {
        **dict.fromkeys(["-b", "-h", "-j", "-x", "-z"], r"[\d.,-]+"),  # letters after the number are options too
        "-p": r"[^$\x00-\x1f]*",
    },
    "prettier": {"--parser": r"[a-z-]+"},
    "pytest": {
        "-W": r"(error|ignore|default|always|module|once)(::[A-Za-z]*Warning)?",
        "-p": r"no:\w+",
        "--cov-report": r"(term|term-missing)(:skip-covered)?|",
    },
    "ssh": {
        "-o": r"(?i)(BatchMode|ConnectTimeout|ConnectionAttempts|StrictHostKeyChecking|ServerAliveInterval|LogLevel"
        r"|ServerAliveCountMax|IdentitiesOnly|PasswordAuthentication|PreferredAuthentications|RequestTTY|Compression"
        r"|AddressFamily|TCPKeepAlive|NumberOfPasswordPrompts)\s*[= ]\s*[\w,-]+"
    },
    "tar": {
        **dict.fromkeys(["-f", "--file"], r"[^:]*"),
        **dict.fromkeys(["--transform", "--xform"], r"s([,/|#])[^\\;]*\1[gix]*"),
    },
    "wget": {"-O": "-"},
    "xargs": {"-I": r"\{\}|%|_|@"},
}
"""By program and option: pattern for the whole value, if not every value is safe."""

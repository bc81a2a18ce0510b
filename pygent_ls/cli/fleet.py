"""Command `pygent-ls fleet`: many tasks over many repositories."""

from __future__ import annotations

import os
import secrets
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pygent_ls.cli.run_options import add_agent_options, add_yes, amount, count

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from pygent_ls.fleet.executors import Executor
    from pygent_ls.fleet.ledger import Ledger
    from pygent_ls.fleet.scheduler import Scheduler
    from pygent_ls.fleet.tasks import Task

MAX_LOCAL_WORKERS = 4
"""Maximum number of agents at a time on this machine, unless --workers names another one."""

EXIT_CODES = """\
exit codes:
  0    all tasks succeeded
  1    some did not, or the fleet could not go on
  2    bad usage; nothing was started
  130  stopped by Ctrl-C or a signal
The same command again continues: tasks that succeeded are not run again.
docs/fleet.md has the format of the file and examples.
"""


def add_fleet(add_parser: Callable[..., argparse.ArgumentParser]) -> argparse.ArgumentParser:
    """Add the command to `pygent-ls`; return its parser."""
    import argparse

    fleet = add_parser(
        "fleet",
        help="run many tasks over many repositories, each in a worktree of its own",
        description=(
            "Run the tasks of a JSONL file, one agent for each, in fresh git worktrees or clones. The results are "
            "written as JSONL, with a branch pygent/ID or a patch for each task. There is nobody to ask for "
            "permission: what would ask is denied, unless --permission-mode, --allowed-tools or --yes allows it. "
            "Commands run in the sandbox or not at all, unless PYGENT_SANDBOX says otherwise."
        ),
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    fleet.add_argument(
        "tasks",
        metavar="TASKS.jsonl",
        help='the tasks, one JSON object per line: {"id": "…", "prompt": "…", "repository": "PATH or URL"}',
    )
    fleet.add_argument("--prompt", metavar="TEXT", help="prompt of the lines without one")
    fleet.add_argument(
        "--cwd", metavar="DIR", default=".", help="repository of the lines without one (default: current folder)"
    )
    fleet.add_argument("--output", metavar="FILE", help="file for the results (default: TASKS.results.jsonl)")
    fleet.add_argument("--ledger", metavar="DIR", help="folder with the state of the tasks (default: TASKS.fleet)")
    where = fleet.add_mutually_exclusive_group()
    where.add_argument(
        "--workers",
        metavar="N",
        type=_workers,
        help=f"number of agents at a time (default: the number of processors, at most {MAX_LOCAL_WORKERS})",
    )
    where.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="run on the Dask cluster with this scheduler, an address or a scheduler file; needs pygent-ls[fleet]",
    )
    group = fleet.add_argument_group("the whole fleet")
    group.add_argument(
        "--retries", metavar="N", type=count, default=2, help="further attempts at a task that failed (default: 2)"
    )
    group.add_argument("--timeout", metavar="SECONDS", type=amount, default=0.0, help="time limit of one attempt")
    group.add_argument(
        "--max-total-usd",
        metavar="USD",
        type=amount,
        default=0.0,
        help="maximum cost of all attempts; no attempt starts that could exceed it (requires --max-budget-usd)",
    )
    group.add_argument(
        "--lease",
        metavar="SECONDS",
        type=_lease,
        default=60.0,
        help="time without a sign of life after which an attempt on another machine counts as lost (default: 60)",
    )
    add_agent_options(fleet)
    add_yes(fleet)
    fleet.set_defaults(refuse=fleet.error, act=fleet_command, no_session_persistence=False)
    return fleet


def _workers(text: str) -> int:
    number = count(text)
    if not 1 <= number <= 1000:
        raise ValueError(text)
    return number


def _lease(text: str) -> float:
    seconds = amount(text)
    if seconds < 1:
        raise ValueError(text)
    return seconds


_workers.__name__ = "number of workers from 1 to 1000"
_lease.__name__ = "number of seconds from 1"


def fleet_command(given: argparse.Namespace) -> int:
    """Run the command; return the exit code. Exits with 2 if it cannot be started."""
    from pygent_ls.cli.run import command_line_of, tools_of
    from pygent_ls.errors import FleetError
    from pygent_ls.fleet.tasks import read_tasks

    folder, file = Path(given.cwd), Path(given.tasks)
    if not folder.is_dir():
        given.refuse(f"--cwd: the folder {given.cwd} does not exist")
    command_line_of(given)  # refuses what each agent would refuse
    tools_of(given)
    try:
        tasks = read_tasks(file, given.prompt, folder.resolve())
    except FleetError as error:
        given.refuse(str(error))
        raise AssertionError from None
    if given.max_total_usd and not given.max_budget_usd and not all(each.max_budget_usd for each in tasks):
        given.refuse("--max-total-usd requires --max-budget-usd, or a `max_budget_usd` in each task")
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # ignored under nohup
            signal.signal(number, signal.default_int_handler)
    try:
        return _run(given, tasks)
    except (FleetError, OSError) as error:
        sys.stderr.write(f"pygent-ls fleet: {error}\n")
        return 1


def _run(given: argparse.Namespace, tasks: Sequence[Task]) -> int:
    """Run the tasks; return the exit code. Raises `FleetError` and OSError."""
    from pygent_ls.fleet.ledger import Ledger
    from pygent_ls.fleet.progress import progress
    from pygent_ls.fleet.scheduler import FleetPolicy, Scheduler

    file = Path(given.tasks).resolve()
    ledger = Ledger.create(Path(given.ledger or file.with_suffix(".fleet")).resolve())
    policy = FleetPolicy(
        options=_agent_options(given),
        retries=given.retries,
        max_budget_usd=given.max_budget_usd or 0.0,
        max_total_usd=given.max_total_usd,
        timeout_s=given.timeout or None,
        lease_s=given.lease,
    )
    executor = _executor(given)
    try:
        with progress() as shown:
            if _denies_changes(given):
                shown.tell(
                    "Everything that needs permission will be denied, such as changes of files. --permission-mode "
                    "accept_edits, --allowed-tools or --yes allows it."
                )
            scheduler = Scheduler(ledger, executor, policy, shown, client=secrets.token_hex(8))
            scheduler.load(tasks)
            return _worked(scheduler, ledger, Path(given.output or file.with_suffix(".results.jsonl")).resolve())
    finally:
        executor.close()


def _worked(scheduler: Scheduler, ledger: Ledger, output: Path) -> int:
    """Run the scheduler to its end, and write the results however it ends."""
    from pygent_ls.editors.exit_codes import CANCELLED, DONE, FAILED
    from pygent_ls.errors import FleetError
    from pygent_ls.fleet.results import write_results

    reason = "The fleet did not go on."
    try:
        scheduler.run()
        reason = "The limit of --max-total-usd was reached."
        code = DONE if all(each.status == "succeeded" for each in scheduler.states) else FAILED
    except KeyboardInterrupt:
        reason, code = "The fleet was stopped.", CANCELLED
        scheduler.tell("Stopping. The same command continues. Press Ctrl-C again to stop immediately.")
        scheduler.stop()
    except (FleetError, OSError):
        with suppress(FleetError, OSError):
            scheduler.stop()
        raise
    finally:
        write_results(output, ledger, scheduler.states, reason)
    scheduler.tell(f"The results are in {output}")
    return code


def _denies_changes(given: argparse.Namespace) -> bool:
    return not (given.yes or given.allowed_tools or given.permission_mode)


def _executor(given: argparse.Namespace) -> Executor:
    from pygent_ls.errors import FleetError
    from pygent_ls.fleet.executors import LocalExecutor

    if given.cluster is None:
        return LocalExecutor(given.workers or min(os.cpu_count() or 1, MAX_LOCAL_WORKERS))
    try:
        from pygent_ls.fleet.dask_executor import DaskExecutor
    except ImportError as error:
        raise FleetError(f"--cluster requires the extra `fleet`: pip install 'pygent-ls[fleet]' ({error})") from None
    return DaskExecutor(given.cluster)


def _agent_options(given: argparse.Namespace) -> tuple[str, ...]:
    """Return the options of the agents, as they were given."""
    import argparse

    parser = argparse.ArgumentParser(add_help=False)
    add_agent_options(parser)
    add_yes(parser)
    options: list[str] = []
    usual: dict[str, Any] = vars(parser.parse_args([]))
    for name, value in usual.items():
        chosen = getattr(given, name)
        option = f"--{name.replace('_', '-')}"
        if chosen is True:
            options.append(option)
        elif chosen != value:
            values = cast("list[object]", chosen if isinstance(chosen, list) else [chosen])
            options += [f"{option}={each}" for each in values]
    return tuple(options)

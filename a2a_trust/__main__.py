"""Where the command starts: what a harness waits for is answered at once, all else goes to the full command line."""

from __future__ import annotations

import sys

QUICK = ("hook", "signals", "status")


def main() -> None:
    """Run `a2a-trust`."""
    arguments = sys.argv[1:]
    if arguments == ["--version"]:
        from a2a_trust import __version__  # noqa: PLC0415 - nothing else is needed

        sys.stdout.write(f"a2a-trust {__version__}\n")
        return
    if arguments and arguments[0] in QUICK:
        from a2a_trust import quick  # noqa: PLC0415 - only these commands need it
        from a2a_trust.plain import run_told  # noqa: PLC0415 - as above

        if quick.is_hook(arguments):
            quick.answer_hook(arguments)
            return
        command = quick.run(arguments)
        if command is not None:
            run_told(command)
            return
    from a2a_trust.cli import main as run_full  # noqa: PLC0415 - slow to import

    run_full()


if __name__ == "__main__":
    main()

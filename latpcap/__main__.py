"""`latpcap`, and `python -m latpcap`: the command line, from its first import on."""

import signal


def main() -> None:
    """Run it and exit; a Ctrl-C while its modules are loaded ends it as any program, without a traceback."""
    heard = signal.getsignal(signal.SIGINT)
    if heard is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from latpcap.cli import main as run

    signal.signal(signal.SIGINT, heard)
    run()


if __name__ == "__main__":
    main()

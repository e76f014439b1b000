"""The command line that all benchmarks share."""

from __future__ import annotations

from argparse import ArgumentParser, RawDescriptionHelpFormatter


def parser(doc: str | None, *, quick: str) -> ArgumentParser:
    """A parser that knows `--quick`, the smallest form of a benchmark: it proves that the benchmark
    works, and measures nothing well.
    """
    arguments = ArgumentParser(description=doc, formatter_class=RawDescriptionHelpFormatter)
    arguments.add_argument(
        "--quick", action="store_true", help=f"only prove that it works: {quick}"
    )
    return arguments

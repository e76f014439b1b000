"""The command line that all benchmarks share."""

from __future__ import annotations

from argparse import ArgumentParser, RawDescriptionHelpFormatter


def parser(doc: str | None, *, quick: str) -> ArgumentParser:
    """A parser with `--quick`, the smallest form of a benchmark. It shows that the benchmark works;
    its figures mean nothing.
    """
    arguments = ArgumentParser(description=doc, formatter_class=RawDescriptionHelpFormatter)
    arguments.add_argument(
        "--quick", action="store_true", help=f"only check that it works: {quick}"
    )
    return arguments

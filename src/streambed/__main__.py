"""python -m streambed."""

from streambed.cli import main

main()

"""python -m streambed.cli."""

from streambed.cli import main

main()

"""A process that a fault may end does not end the run, and is started again when healed."""

from __future__ import annotations

from pathlib import Path

from streambed.record.events import ProcessEnded
from tests.support.bare_world import bare_world, of_kind, shell, wait_for

DIES = 'test -e broken && { echo "no space left"; exit 1; }; sleep 60'


def test_a_process_may_end_during_a_fault_and_starts_when_it_is_healed(tmp_path: Path) -> None:
    (tmp_path / "broken").touch()
    with bare_world(tmp_path, shell("server", DIES, cwd=str(tmp_path))) as world:
        server = world.processes["server"]
        heal = server.tolerate_end()
        server.start()
        wait_for(lambda: not server.alive)
        world.watch()
        (tmp_path / "broken").unlink()
        heal()

        assert server.alive and server.incarnation == 2
        (ended,) = of_kind(world, ProcessEnded)
        assert (ended.status, ended.expected, ended.last_lines) == (1, True, ("no space left",))


def test_a_process_that_lived_through_the_fault_is_left_alone(tmp_path: Path) -> None:
    with bare_world(tmp_path, shell("server", DIES, cwd=str(tmp_path))) as world:
        server = world.processes["server"]
        server.start()
        server.tolerate_end()()

        assert server.alive and server.incarnation == 1

"""Two faults cannot hold one thing at the same time."""

from __future__ import annotations

from streambed import (
    Consumer,
    Cut,
    Isolate,
    Kafka,
    Kill,
    Pause,
    PowerFailure,
    SkewClock,
    SlowSync,
    SparkJob,
    Stop,
)
from streambed.kinds.faults.of_links import LinkEnds
from streambed.kinds.faults.when.contradictions import contradictions
from streambed.kinds.faults.when.schedule import schedule

COMPONENTS = {
    "reader": Consumer(name="reader", node="home", reads="lines"),
    "kafka": Kafka(name="kafka", nodes=("b1", "b2")),
    "shout": SparkJob(name="shout", node="home", job="shout.py"),
}
LINKS = {
    "edge – core": LinkEnds(ends=("edge", "core")),
    "one": LinkEnds(ends=("here", "there"), named=True),
    "two": LinkEnds(ends=("here", "there"), named=True),
}


def problems(*faults) -> list[tuple[str, str]]:
    injections = schedule(faults, duration_ns=60_000_000_000, seed=1)
    found = contradictions(faults, injections, LINKS, COMPONENTS)
    return [(problem.key, problem.says) for problem in found]


def test_a_process_cannot_be_paused_while_it_is_dead():
    kill = Kill(at="5s", lasts="10s", target="reader")

    assert problems(kill, Pause(at="14s", lasts="2s", target="reader/home")) == [
        (
            "faults.1.at",
            "at 14s reader is dead already: faults.0 (kill) lasts until 15s. "
            "Begin at 15s or later, or choose another target",
        )
    ]
    assert problems(kill, Stop(at="5s", lasts="1s", target="reader"))
    assert problems(kill, Pause(at="15s", lasts="2s", target="reader")) == []


def test_a_repetition_may_meet_another_fault():
    often = Kill(at="5s", lasts="1s", every="10s", target="reader")

    assert problems(often, Pause(at="25s", lasts="2s", target="reader"))
    assert problems(often, Pause(at="22s", lasts="2s", target="reader")) == []


def test_a_link_that_is_cut_cannot_be_cut_again_in_the_same_direction():
    whole = Cut(at="5s", lasts="10s", link=("edge", "core"))
    there = Cut(at="6s", lasts="1s", link=("edge", "core"), source="edge")
    back = Cut(at="6s", lasts="1s", link=("edge", "core"), source="core")

    assert "edge → core is cut already" in problems(whole, there)[0][1]
    assert problems(whole, Isolate(at="6s", lasts="1s", target="edge"))
    assert problems(there, back) == []


def test_holders_of_roles_are_not_known_before():
    role = "leader of lines/0"

    assert (
        problems(Kill(at="5s", lasts="9s", target=role), Pause(at="6s", lasts="1s", target=role))
        == []
    )


def test_a_dead_process_has_no_clock_and_no_disk_to_break():
    kill = Kill(at="5s", lasts="10s", target="kafka/b2")
    power = PowerFailure(at="5s", lasts="10s", target="kafka")

    for dead in (kill, power):
        assert problems(dead, SkewClock(at="6s", lasts="1s", target="kafka/b2", ahead="1s"))
        assert problems(dead, SlowSync(at="6s", lasts="1s", target="kafka/b2", delay="1s"))
    assert problems(kill, PowerFailure(at="6s", lasts="1s", target="kafka"))
    assert problems(kill, SkewClock(at="6s", lasts="1s", target="kafka/b1", ahead="1s")) == []


def test_a_process_may_have_a_wrong_clock_and_a_slow_disk_at_once():
    clock = SkewClock(at="5s", lasts="10s", target="kafka/b2", ahead="1s")
    disk = SlowSync(at="6s", lasts="1s", target="kafka/b2", delay="1s")

    assert problems(clock, disk) == []
    assert problems(clock, SkewClock(at="6s", lasts="1s", target="kafka/b2", behind="1s"))


def test_the_driver_of_a_job_is_the_job_itself():
    kill = Kill(at="5s", lasts="10s", target="shout")

    assert problems(kill, Pause(at="6s", lasts="1s", target="driver of shout"))


def test_parallel_links_are_two_things():
    one = Cut(at="5s", lasts="10s", link="one")

    assert problems(one, Cut(at="6s", lasts="1s", link="two")) == []
    assert problems(one, Cut(at="6s", lasts="1s", link="one"))

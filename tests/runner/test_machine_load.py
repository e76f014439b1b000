import os

from streambed.runner.machine_load import (
    TICKS_PER_S,
    machine_load,
    parse_pressure,
    parse_queues,
    parse_stat,
    waiting_times,
)


def test_proc_stat_is_read_as_seconds_busy_idle_and_stolen():
    metrics = parse_stat("cpu  100 20 30 4000 500 6 7 80 0 0\ncpu0 1 2 3\n")

    assert dict(metrics) == {
        "machine_busy_s": 163 / TICKS_PER_S,
        "machine_idle_s": 4500 / TICKS_PER_S,
        "machine_stolen_s": 80 / TICKS_PER_S,
    }


def test_pressure_is_how_long_some_program_waited():
    assert (
        parse_pressure(
            "some avg10=0.51 avg60=0.64 avg300=1.41 total=2500000\nfull avg10=0.00 total=0\n"
        )
        == 2.5
    )


def test_without_pressure_the_queues_of_all_cores_are_added_up():
    text = (
        "version 17\ntimestamp 4\n"
        "cpu0 0 0 0 0 0 0 99 1500000000 7\ndomain0 3 0 0\n"
        "cpu1 0 0 0 0 0 0 99 500000000 7\n"
    )

    assert parse_queues(text) == 2.0


def test_this_machine_says_how_busy_it_is():
    assert {"machine_busy_s", "machine_idle_s", "machine_stolen_s"} <= {
        metric for metric, _ in machine_load()
    }


def test_a_process_that_is_gone_says_nothing():
    assert dict(waiting_times(os.getpid())).keys() in (
        {"delay_line_waited_s", "delay_line_turns"},
        set(),
    )
    assert not list(waiting_times(2**22 + 1))

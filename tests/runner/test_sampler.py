"""The sampler: what it measures, each thing once, and that a run ends without it."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

from streambed.errors import WorldError
from streambed.kinds.components.component import ComponentBase
from streambed.net.ports import METRICS
from streambed.record.events import Batch
from streambed.record.gauges import DelayLineGauge, ProducerGauge, ReaderGauge, write_gauge
from streambed.record.ledger.schemas import SAMPLES
from streambed.record.tables import Table, read_table
from streambed.runner import sampler
from streambed.runner.sampler import Sampler, processes_by_session, run_sampler
from tests.support.bare_world import bare_world, of_kind, program, wait_for

FILE = "history/samples.arrow"


class Job(ComponentBase):
    """An engine that has finished one more batch each time it is asked."""

    name = "job"
    kind = "spark_job"

    def __init__(self) -> None:
        self.finished = 0

    @property
    def as_engine(self):
        return self

    def batches(self, world):
        self.finished += 1
        return [Batch(component="job", batch=self.finished, start=1, end=2)]


def rows(directory):
    """All samples: metric, of, value."""
    table = read_table(directory / FILE, SAMPLES)
    return [(row["metric"], row["of"], row["value"]) for row in table.to_pylist()]


def sample(world, times=1):
    with Table(world.directory / FILE, SAMPLES) as table:
        measuring = Sampler(world, table)
        for _ in range(times):
            measuring.sample()
    return rows(world.directory)


def test_every_port_has_all_its_counters(tmp_path):
    with bare_world(tmp_path) as world:
        metrics = sample(world)

    width = len(METRICS)
    assert metrics[: 2 * width] == [
        *((metric, "left:eth0", float(at)) for at, metric in enumerate(METRICS)),
        *((metric, "right:eth0", float(at + width)) for at, metric in enumerate(METRICS)),
    ]


def test_gauges_of_agents_become_metrics_of_their_processes(tmp_path):
    with bare_world(tmp_path, program("poet/1"), program("reader"), program("silent")) as world:
        write_gauge(tmp_path / "gauges" / "poet.1.json", ProducerGauge(sent=5, acked=4, failed=1))
        write_gauge(tmp_path / "gauges" / "reader.json", ReaderGauge(seen=3, lag=2, lag_s=0.5))
        metrics = sample(world)

    agents = [row for row in metrics if row[1] in ("poet/1", "reader", "silent")]
    assert agents == [
        ("sent_total", "poet/1", 5),
        ("acked_total", "poet/1", 4),
        ("failed_total", "poet/1", 1),
        ("seen_total", "reader", 3),
        ("lag_records", "reader", 2),
        ("lag_s", "reader", 0.5),
    ]


def test_a_process_that_runs_has_cpu_and_memory_and_one_that_does_not_has_none(tmp_path):
    with bare_world(tmp_path, program("runs"), program("waits")) as world:
        world.processes["runs"].start()
        metrics = sample(world)

    of = {(metric, name): value for metric, name, value in metrics}
    assert of["process_rss_bytes", "runs"] > 0
    assert ("process_cpu_s", "runs") in of
    assert ("process_cpu_s", "waits") not in of
    assert of["process_cpu_s", "conductor"] > 0


def test_a_process_apart_is_a_session_by_itself():
    together, apart = processes_by_session(None), processes_by_session(os.getpid())

    assert apart[os.getpid()][1] > 0
    if os.getsid(0) != os.getpid():
        assert apart[os.getsid(0)][1] < together[os.getsid(0)][1]


def line_gauge(written_ns, late_mean_ns):
    return DelayLineGauge(
        written_ns=written_ns,
        packets=5,
        dropped=0,
        late_mean_ns=late_mean_ns,
        late_max_ns=late_mean_ns,
        late_packets=0,
    )


def test_each_gauge_of_the_delay_line_is_sampled_once_at_its_own_time(tmp_path):
    with bare_world(tmp_path) as world:
        world.network.delay_line = SimpleNamespace(pid=os.getpid(), poll=lambda: None)
        world.network.gauges = (line_gauge(written_ns=10, late_mean_ns=1_000),)
        world.network.gauges += (line_gauge(written_ns=20, late_mean_ns=2_000),)
        sample(world, times=2)

    table = read_table(tmp_path / FILE, SAMPLES).to_pylist()
    rows = [row for row in table if row["metric"] == "delay_line_late_mean_ns"]
    assert [(row["time"], row["value"]) for row in rows] == [(10, 1_000.0), (20, 2_000.0)]


def test_the_machine_is_sampled_too(tmp_path):
    with bare_world(tmp_path) as world:
        metrics = sample(world)

    assert [row for row in metrics if row[1] == "machine"]


def test_batches_that_ended_are_recorded_each_time(tmp_path):
    with bare_world(tmp_path, components=[Job()]) as world:
        sample(world, times=2)

    assert [event.batch for event in of_kind(world, Batch)] == [1, 2]


def test_samples_can_be_read_before_the_run_ends(tmp_path):
    with bare_world(tmp_path) as world, Table(tmp_path / FILE, SAMPLES) as table:
        Sampler(world, table).sample()
        assert rows(tmp_path)


def test_a_run_shorter_than_a_second_has_samples(tmp_path):
    with bare_world(tmp_path) as world, run_sampler(world):
        pass

    assert rows(tmp_path)


def test_how_late_the_sampler_was_is_sampled(tmp_path, monkeypatch):
    monkeypatch.setattr(sampler, "EVERY_S", 0.001)
    with bare_world(tmp_path) as world, run_sampler(world):
        wait_for(lambda: any(row[0] == "sampler_late_s" for row in rows(tmp_path)))


def test_an_error_of_the_sampler_ends_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr(sampler, "EVERY_S", 0.001)
    with bare_world(tmp_path) as world:
        good = world.network.ports.read

        def fail():
            raise OSError("no such port")

        with run_sampler(world):
            world.network.ports.read = fail
            wait_for(lambda: bool(world.troubles))
            world.network.ports.read = good
            with pytest.raises(OSError, match="no such port"):
                world.wait(lambda: True, limit_s=0)


def test_a_block_that_fails_is_sampled_to_its_end(tmp_path):
    with bare_world(tmp_path) as world, pytest.raises(WorldError), run_sampler(world):
        raise WorldError("the load failed")

    assert rows(tmp_path)

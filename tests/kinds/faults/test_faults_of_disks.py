from types import SimpleNamespace

import pytest

from streambed import (
    Consumer,
    FailSync,
    FillDisk,
    Hdfs,
    Kafka,
    PostgreSQL,
    PowerFailure,
    SlowSync,
    SparkJob,
)
from streambed.net.tampering.synced_files import SyncedFiles
from streambed.plan import Machine, ProcessSpec
from tests.support.fakes import FakeWorld

COMPONENTS = {
    "kafka": Kafka(name="kafka", nodes=("b1", "b2"), topics={"lines": {}}),
    "files": Hdfs(name="files", name_node="n", data_nodes=("d",)),
    "rows": PostgreSQL(name="rows", node="s"),
    "shout": SparkJob(name="shout", node="j", job="shout.py"),
    "far": SparkJob(name="far", node="j", job="far.py", checkpoint="files"),
    "reader": Consumer(name="reader", node="home", reads="lines"),
}
TIMES = {"at": "1s", "lasts": "2s"}


def problems(fault):
    return [found.says for found in fault.problems([], {}, COMPONENTS)]


@pytest.mark.parametrize("target", ["kafka/b1", "leader of lines/0", "rows", "files/d", "shout"])
def test_a_process_that_recovers_from_files_has_a_disk(target):
    assert problems(FillDisk(**TIMES, target=target)) == []


@pytest.mark.parametrize("target", ["reader", "far"])
def test_a_process_without_files_has_no_disk_to_break(target):
    (says,) = problems(SlowSync(**TIMES, target=target, delay="1s"))

    assert says == (
        f"'{target}' has no files to recover from, so it has no disk to break. "
        "Those with a disk are kafka, files, rows, shout"
    )


def test_a_process_that_never_syncs_has_no_syncs_to_fail():
    (says,) = problems(FailSync(**TIMES, target="rows"))
    assert says == "'rows': it does not sync its files: give it `settings: {fsync: true}`"

    (says,) = problems(SlowSync(**TIMES, target="shout", delay="1s"))
    assert says.startswith("'shout': Spark does not sync its checkpoint")


def test_a_store_that_syncs_has_syncs_to_fail():
    synced = PostgreSQL(name="synced", node="s", settings={"fsync": True})

    assert FailSync(**TIMES, target="synced").problems([], {}, {"synced": synced}) == []


def test_a_disk_needs_some_room():
    (says,) = problems(FillDisk(**TIMES, target="rows", size="1KiB"))

    assert says == "1KiB is too little for any server: give 1MiB or more"


def test_a_full_disk_may_end_its_process_until_it_is_healed():
    world = FakeWorld()
    injected = FillDisk(**TIMES, target="rows").inject(world)

    assert (world.full, world.find("rows").may_end) == (["rows"], True)
    injected.heal()
    assert (world.full, world.find("rows").may_end) == ([], False)


def test_syncs_of_the_holder_of_a_role_are_slow_until_healed():
    world = FakeWorld()
    world.roles["controller"] = "kafka/b2"
    injected = SlowSync(**TIMES, target="controller", delay="20ms").inject(world)

    syncs = world.find("kafka/b2").syncs
    assert (injected.target, syncs.delay_ns) == ("kafka/b2 (controller): 20ms each", 20_000_000)
    injected.heal()
    assert syncs.delay_ns == 0


def test_syncs_fail_until_healed():
    world = FakeWorld()
    injected = FailSync(**TIMES, target="rows").inject(world)

    assert world.find("rows").syncs.fails
    injected.heal()
    assert not world.find("rows").syncs.fails


def test_a_machine_that_cannot_report_syncs_says_why():
    fault = PowerFailure(**TIMES, target="kafka")

    assert fault.lacks(Machine(sync_refusal="no seccomp")) == "no seccomp"


@pytest.mark.parametrize(
    ("fault", "nodes"),
    [
        (FillDisk(**TIMES, target="kafka/b1"), ["b1"]),
        (FillDisk(**TIMES, target="leader of lines/0"), ["b1", "b2"]),
        (PowerFailure(**TIMES, target="kafka"), ["b1", "b2"]),
        (SlowSync(**TIMES, target="kafka/b2", delay="1s"), ["b2"]),
    ],
)
def test_only_processes_that_a_fault_may_hit_are_prepared(fault, nodes):
    (preparation,) = fault.prepares(COMPONENTS)
    processes = [
        ProcessSpec(name=f"kafka/{node}", component="kafka", node=node, argv=())
        for node in ("b1", "b2")
    ]

    assert [one.node for one in processes if preparation.is_for(one)] == nodes


def test_a_power_failure_is_refused_where_files_are_written_in_place():
    (says,) = problems(PowerFailure(**TIMES, target="rows"))

    assert says.startswith("'rows': it writes its files in place")


def test_a_power_failure_is_refused_where_nothing_is_synced():
    (says,) = problems(PowerFailure(**TIMES, target="shout"))

    assert says.startswith("'shout': Spark does not sync its checkpoint")


def test_a_power_failure_hits_all_processes_of_a_component_at_once():
    world = FakeWorld()
    names = ("kafka/b1", "kafka/b2")
    world.plan = SimpleNamespace(
        seed=1,
        processes=[
            ProcessSpec(name=name, component="kafka", node="", argv=(), reports_syncs=True)
            for name in names
        ],
    )
    injected = PowerFailure(**TIMES, target="kafka").inject(world)

    assert injected.target == "kafka: 200 bytes not synced, 4 files cut, 2 files removed"
    assert [world.find(name).alive for name in names] == [False, False]
    injected.heal()
    assert [world.find(name).alive for name in names] == [True, True]


def test_a_power_failure_leaves_files_alone_that_are_not_appended_to(tmp_path):
    files = SyncedFiles(tmp_path, ("edits_*",))
    files.begin()
    for name in ("edits_1", "fsimage_1"):
        (tmp_path / name).write_text("never synced")

    files.lose_unsynced(lambda tail: 0)

    assert [path.name for path in tmp_path.iterdir()] == ["fsimage_1"]

from pathlib import Path
from types import SimpleNamespace

import pytest

from streambed import Consumer, Corrupt, Hdfs, Kafka, Lose, RewindCheckpoint, SparkJob
from streambed.errors import WorldError
from streambed.plan import ProcessSpec
from tests.support.fakes import FakeWorld

COMPONENTS = {
    "kafka": Kafka(name="kafka", nodes=("b1", "b2"), topics={"lines": {"partitions": 2}}),
    "files": Hdfs(name="files", name_node="n", data_nodes=("d",)),
    "shout": SparkJob(name="shout", node="j", job="shout.py"),
    "far": SparkJob(name="far", node="j", job="far.py", checkpoint="files"),
    "reader": Consumer(name="reader", node="home", reads="lines"),
}
TIMES = {"at": "1s", "lasts": "2s"}
COMMIT = "newest commit of shout's checkpoint"
SEGMENT = "segment of lines/1 at its leader"


def problems(fault):
    return [found.says for found in fault.problems([], {}, COMPONENTS)]


@pytest.mark.parametrize(
    ("file", "says"),
    [
        ("segment of lins/0 at its leader", "no kafka component declares the topic 'lins'"),
        ("segment of lines/2 at its leader", "'lines' has no partition 2: it has 2, from 0 on"),
        ("segment of lines/0 at b3", "'b3' is no broker of kafka. Known: b1, b2."),
        ("newest commit of shuot's checkpoint", "there is no job 'shuot'. Did you mean 'shout'?"),
        ("checkpoint of far", "the checkpoint of 'far' is in files, where its files are not"),
        ("the third file", "'the third file' names no file: write segment of TOPIC/PARTITION at"),
    ],
)
def test_a_file_that_nobody_keeps_is_a_mistake(file, says):
    (found,) = problems(Lose(**TIMES, file=file))

    assert found.startswith(says)


@pytest.mark.parametrize("file", [SEGMENT, "segment of lines/0 at b1", COMMIT])
def test_files_have_names_by_what_they_are(file):
    assert problems(Lose(**TIMES, file=file)) == problems(Corrupt(**TIMES, file=file)) == []


def test_a_folder_cannot_be_corrupted():
    assert problems(Corrupt(**TIMES, file="checkpoint of shout")) == [
        "a checkpoint is a folder: name its newest commit or offsets, or use lose"
    ]


def test_only_a_job_with_its_own_checkpoint_is_rewound():
    assert problems(RewindCheckpoint(**TIMES, target="shout")) == []
    assert len(problems(RewindCheckpoint(**TIMES, target="far"))) == 1
    assert len(problems(RewindCheckpoint(**TIMES, target="kafka"))) == 1


@pytest.fixture
def world(tmp_path: Path) -> FakeWorld:
    """Two brokers with a segment each, and a job that has begun and committed batches 0 to 2."""
    world = FakeWorld(tmp_path)
    specs = []
    for node in ("b1", "b2"):
        disk = tmp_path / "data" / "kafka" / node / "log"
        (disk / "lines-1").mkdir(parents=True)
        (disk / "lines-1" / "0000.log").write_bytes(bytes(1000))
        (disk / "lines-1" / "0900.log").write_bytes(b"")
        specs.append(spec(f"kafka/{node}", node, disk))
    checkpoint = tmp_path / "data" / "shout" / "checkpoint"
    for log in ("offsets", "commits"):
        (checkpoint / log).mkdir(parents=True)
        for batch in range(3):
            (checkpoint / log / str(batch)).write_text("v1\n{}")
            (checkpoint / log / f".{batch}.crc").write_text("crc")
    specs.append(spec("shout", "j", checkpoint))
    world.plan = SimpleNamespace(seed=7, processes=specs)
    world.roles["leader of lines/1"] = "kafka/b2"
    return world


def spec(name: str, node: str, disk: Path) -> ProcessSpec:
    return ProcessSpec(name=name, component=name.split("/")[0], node=node, argv=(), disk=str(disk))


def segment(world: FakeWorld, node: str) -> bytes:
    return (world.directory / "data" / "kafka" / node / "log/lines-1/0000.log").read_bytes()


def entries(world: FakeWorld, log: str) -> list[str]:
    folder = world.directory / "data" / "shout" / "checkpoint" / log
    return sorted(path.name for path in folder.iterdir())


def test_bytes_of_the_leaders_segment_change_while_it_is_dead(world):
    injected = Corrupt(**TIMES, file=SEGMENT, bytes=3).inject(world)

    assert sum(byte != 0 for byte in segment(world, "b2")) == 3
    assert not any(segment(world, "b1"))
    assert not world.find("kafka/b2").alive
    assert injected.processes == ("kafka/b2",)
    injected.heal()
    assert world.find("kafka/b2").alive


def test_the_seed_decides_which_bytes_change(world):
    for node in ("b1", "b2"):
        world.roles["leader of lines/1"] = f"kafka/{node}"
        Corrupt(**TIMES, file=SEGMENT, bytes=5).inject(world)

    assert segment(world, "b1") == segment(world, "b2")


def test_a_truncated_segment_is_shorter(world):
    Corrupt(**TIMES, file="segment of lines/1 at b1", how="truncate").inject(world)

    assert len(segment(world, "b1")) < 1000


def test_a_lost_commit_takes_its_checksum_along(world):
    Lose(**TIMES, file=COMMIT).inject(world)

    assert entries(world, "commits") == [".0.crc", ".1.crc", "0", "1"]
    assert len(entries(world, "offsets")) == 6


def test_a_lost_checkpoint_is_empty(world):
    injected = Lose(**TIMES, file="checkpoint of shout").inject(world)

    assert list((world.directory / "data" / "shout" / "checkpoint").iterdir()) == []
    assert injected.target == "checkpoint of shout (shout): checkpoint, 12 files removed"


def test_a_process_that_another_fault_has_killed_is_left_to_that_fault(world):
    world.find("shout").alive = False
    Lose(**TIMES, file=COMMIT).inject(world).heal()

    assert not world.find("shout").alive


def test_nobody_is_killed_for_a_file_that_is_not_there(world):
    with pytest.raises(WorldError, match="no segment with records"):
        Lose(**TIMES, file="segment of lines/0 at its leader").inject(
            with_role(world, "leader of lines/0")
        )
    assert world.find("kafka/b2").alive


def with_role(world: FakeWorld, role: str) -> FakeWorld:
    world.roles[role] = "kafka/b2"
    return world


def test_a_rewound_checkpoint_has_a_last_batch_that_is_not_committed(world):
    injected = RewindCheckpoint(**TIMES, target="shout").inject(world)

    assert entries(world, "commits") == [".0.crc", ".1.crc", "0", "1"]
    assert "2" in entries(world, "offsets")
    assert injected.target == "shout: batch 2 is not committed"
    assert not world.find("shout").alive
    injected.heal()
    assert world.find("shout").alive


def test_a_driver_is_not_rewound_within_a_batch(world, monkeypatch):
    monkeypatch.setattr("streambed.kinds.faults.disk.rewind_checkpoint.QUIET_LIMIT_S", 0.01)
    (world.directory / "data" / "shout" / "checkpoint" / "offsets" / "3").touch()

    with pytest.raises(WorldError, match="had a batch in progress"):
        RewindCheckpoint(**TIMES, target="shout").inject(world)
    assert world.find("shout").alive


def test_a_driver_that_died_within_a_batch_has_nothing_to_rewind(world):
    (world.directory / "data" / "shout" / "checkpoint" / "offsets" / "3").touch()
    world.find("shout").alive = False

    with pytest.raises(WorldError, match="died within a batch"):
        RewindCheckpoint(**TIMES, target="shout").inject(world)

"""stream2gym's files are understood in every form, and read back the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from streambed import Command, Cut, Kafka, Link
from streambed.declare import reading
from streambed.errors import DeclarationError
from streambed.units import Duration, Share
from tests.support.declare.graphs import (
    NODES,
    TIME,
    ZOOKEEPER,
    producer,
    read,
    star,
    told,
    write,
    wrong,
)


@pytest.mark.parametrize("keys", ["declared", "ids", "undeclared"])
def test_a_small_experiment_is_understood_however_its_keys_are_spelt(
    tmp_path: Path, keys: str
) -> None:
    declared = read(tmp_path, keys=keys)

    experiment = declared.experiment
    assert list(experiment.components) == ["kafka", "h1-producer-1", "h4-consumer-1"]
    assert experiment.components["kafka"] == Kafka(
        name="kafka", nodes=("h2",), topics={"lines": {}}
    )
    assert experiment.topology.addresses == {"h1": "10.0.0.1", "h2": "10.0.0.2", "h4": "10.0.0.4"}
    assert experiment.topology.links[2] == Link(
        ends=("s1", "h4"), delay="5ms", rate="1Gbit", ports=("s1-eth3", "h4-eth1")
    )
    assert experiment.duration == Duration(10e9)
    assert declared.notes == (TIME, ZOOKEEPER)


def test_runs_are_named_by_the_file_or_by_its_folder_if_it_is_called_input(tmp_path: Path) -> None:
    (tmp_path / "2 words!").mkdir()
    path = write(tmp_path / "2 words!")

    assert reading.read(path).experiment.name == "g2-words"
    assert reading.read(path.rename(path.with_name("star.graphml"))).experiment.name == "star"


def test_overrides_and_a_seed_change_what_was_understood(tmp_path: Path) -> None:
    path = write(tmp_path)

    experiment = reading.read(
        path, ["duration=60s", "topology.links.0.delay=9ms"], seed=4
    ).experiment

    assert (experiment.duration, experiment.topology.links[0].delay, experiment.seed) == (
        Duration(60e9),
        Duration(9e6),
        4,
    )


def test_a_wrong_override_points_at_itself(tmp_path: Path) -> None:
    (says,) = wrong(tmp_path, "duration=soon")

    assert says.startswith("--set duration=soon: duration: 'soon' is not a duration")


def test_what_is_converted_reads_back_the_same(tmp_path: Path) -> None:
    nodes = {
        "h3": {"streamProcType": "Spark", "streamProcConfig": "cfg/spe.yaml"},
        "h5": {"producerType": "CUSTOM", "producerConfig": "cfg/custom.yaml"},
        "h6": {"producerType": "ELTT", "producerConfig": "cfg/prod.yaml"},
    }
    files = {
        "cfg/spe.yaml": "app: job.py",
        "cfg/custom.yaml": "producerPath: p.py",
        "cfg/fault.yaml": "duration: 2\nlinks: s1-h1, h2-s1",
    }
    declared = read(tmp_path, nodes=nodes, files=files, graph={"faultConfig": "cfg/fault.yaml"})

    (tmp_path / "same.yaml").write_text(declared.text)

    assert reading.read(tmp_path / "same.yaml").experiment == declared.experiment
    assert declared.text.startswith(
        f"# Converted from input.graphml.\n# - {TIME}\n# - {ZOOKEEPER}\n"
    )


def test_what_is_converted_into_another_folder_names_the_same_files(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()

    declared = reading.convert(write(tmp_path), base=tmp_path / "other")

    assert producer(declared).file == "../a.txt"


# The network


def test_links_have_stream2gyms_defaults(tmp_path: Path) -> None:
    declared = read(
        tmp_path,
        edges=[
            ("s1", "h1", {}),
            ("h2", "s1", {"bandwidth": "10", "latency": "0.5", "loss": "2"}),
            ("s1", "h4", {}),
        ],
    )

    first, second, _ = declared.experiment.topology.links
    assert first == Link(ends=("s1", "h1"), delay="1ms", rate="1Gbit")
    assert second == Link(ends=("h2", "s1"), delay="500us", rate="10Mbit", loss="2%")


def test_ports_stay_with_the_end_that_was_declared(tmp_path: Path) -> None:
    edges = [
        ("s1", "h1", {"sport": "7", "dport": "2"}),
        ("h2", "s1", {"sport": "1", "dport": "8"}),
        ("s1", "h4", {}),
    ]

    links = read(tmp_path, edges=edges).experiment.topology.links

    assert [link.ports for link in links] == [("s1-eth7", "h1-eth2"), ("h2-eth1", "s1-eth8"), None]


def test_a_bandwidth_that_stream2gym_ignored_is_noted(tmp_path: Path) -> None:
    edges = [*star(NODES)[:-1], ("s1", "h4", {"bandwidth": "4000"})]

    assert told(read(tmp_path, edges=edges)) == [
        "a bandwidth above 1000 is emulated here; stream2gym ignored it (s1-h4)"
    ]


def test_defaults_of_keys_hold_where_nothing_is_given(tmp_path: Path) -> None:
    path = write(tmp_path)
    text = path.read_text().replace(
        '<key id="lat" for="all" attr.name="latency"/>',
        '<key id="lat" for="edge"><default>33</default></key>',
    )
    path.write_text(text.replace('<data key="lat">5</data>', "", 1))

    assert [link.delay.ms for link in reading.read(path).experiment.topology.links] == [33, 5, 5]


def test_a_fault_cuts_links_at_a_tenth_of_the_run(tmp_path: Path) -> None:
    files = {"cfg/fault.yaml": "---\n  duration : 60\n  links: s1-h1, h2-s1\n...\n"}

    declared = read(tmp_path, "duration=5min", files=files, graph={"faultConfig": "cfg/fault.yaml"})

    assert declared.experiment.faults == (
        Cut(at="30s", lasts="60s", link=("s1", "h1")),
        Cut(at="30s", lasts="60s", link=("h2", "s1")),
    )
    assert told(declared) == [
        "faultConfig: the links are cut at 30s, a tenth of the run, and for 1min exactly; before, "
        "it was in steps of 10 s"
    ]


def test_the_old_name_of_a_fault_is_understood(tmp_path: Path) -> None:
    files = {"cfg/fault.yaml": "duration: 3\nlinks: s1-h1"}

    (fault,) = read(
        tmp_path, files=files, graph={"disconnectionConfig": "cfg/fault.yaml"}
    ).experiment.faults

    assert (fault.at, fault.lasts) == (Duration(1e9), Duration(3e9))


# Older forms


def test_values_may_stand_in_the_attributes_themselves(tmp_path: Path) -> None:
    nodes = {
        "h1": {"producer": "1", "producerType": "ELTT", "producerConfig": "a.txt, lines, 5, 2"},
        "h2": {"broker": "1"},
        "h3": {"sparkConfig": "job.py,lines"},
        "h4": {"consumer": "1", "consumerConfig": "lines,2"},
    }
    files = {
        "cfg/topics.yaml": "lines broker 2 partition 1 replica 1\nother broker 2 partition 3\n"
    }

    declared = read(tmp_path, nodes=nodes, files=files)

    kafka = Kafka(name="kafka", nodes=("h2",), topics={"lines": {}, "other": {"partitions": 3}})
    assert declared.experiment.components["kafka"] == kafka
    assert list(declared.experiment.components)[1:] == [
        "h1-producer-1",
        "h1-producer-2",
        "h4-consumer-1",
        "h4-consumer-2",
        "h3-spark",
    ]
    assert producer(declared).rounds == 5
    assert told(declared) == [
        "consumerConfig without consumerType is taken to be STANDARD (h4)",
        "sparkConfig: the sink 'lines' has no effect, the job itself says where it writes (h3)",
    ]


def test_a_script_may_stand_beside_its_type(tmp_path: Path) -> None:
    component = read(tmp_path, nodes={"h1": {"producerType": "CUSTOM,p.py"}}).experiment.components[
        "h1-producer-1"
    ]

    assert isinstance(component, Command)
    assert component.argv[1].endswith("p.py")


def test_the_share_of_a_host_caps_it(tmp_path: Path) -> None:
    component = read(
        tmp_path, nodes=NODES | {"h1": {"cpuPercentage": "0.1"}, "h4": {"cpuPercentage": "1"}}
    )

    assert component.experiment.topology.cpu == {"h1": Share(0.1), "h4": Share(1.0)}


# Where files are looked for


def test_files_are_looked_for_beside_the_graph_then_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "case").mkdir()
    path = write(tmp_path / "case").relative_to(tmp_path)
    (tmp_path / "case" / "a.txt").rename(tmp_path / "a.txt")

    assert producer(reading.read(path)).file == "../a.txt"

    (tmp_path / "a.txt").unlink()
    with pytest.raises(DeclarationError) as refused:
        reading.read(path)
    assert str(refused.value) == (
        "case/cfg/prod.yaml:2:13: h1: filePath: there is no file 'a.txt': "
        "looked for case/a.txt and a.txt"
    )

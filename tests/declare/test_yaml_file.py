"""Declarations in YAML: what a file gives, and each mistake with its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import TypeAdapter

from streambed.declare.experiment import Experiment
from streambed.declare.yaml.messages import NAME_RULE, NODE_RULE
from streambed.declare.yaml.reader import read
from streambed.errors import DeclarationError, listing
from streambed.kinds.faults import FAULTS
from streambed.units import Duration
from tests.support.declare.samples import complaints, spoilt, write

UNITS = "write a number and one of ns, us, ms, s, min, h, such as '20ms'"


def test_a_file_gives_the_experiment_that_it_declares(tmp_path: Path) -> None:
    experiment = read(write(tmp_path))

    assert list(experiment.components) == ["kafka", "poet", "counter", "reader"]
    assert experiment.components["poet"].name == "poet"
    assert experiment.topology.links[0].delay == Duration(20e6)


@pytest.mark.parametrize(
    ("old", "new", "place", "says"),
    [
        (
            "delay: 20ms",
            "delya: 20ms",
            "7:28: topology.links.0.delya: ",
            "unknown key 'delya'. Did you mean 'delay'?",
        ),
        (
            "duration: 60s",
            "duration: 60 sec",
            "3:11: duration: ",
            f"'60 sec' is not a duration: {UNITS}",
        ),
        (
            "delay: 2ms",
            "delay: 2",
            "8:38: topology.links.1.delay: ",
            f"2 is not a duration: {UNITS}",
        ),
        (
            "edge, writes",
            "egde, writes",
            "12:32: components.poet.node: ",
            "there is no node 'egde'. Did you mean 'edge'?",
        ),
        (
            "node: cluster",
            "node: core",
            "13:36: components.counter.node: ",
            "'core' is a switch: components run on hosts",
        ),
        (
            "writes: lines",
            "writes: lins",
            "12:46: components.poet.writes: ",
            "no kafka component declares the topic 'lins'. Did you mean 'lines'?",
        ),
        (
            "writes: lines, ",
            "",
            "12:3: components.poet.writes: ",
            "is missing: a producer needs 'writes'",
        ),
        (
            "writes: lines,",
            "wirtes: lines,",
            "12:38: components.poet.wirtes: ",
            "unknown key 'wirtes'. Did you mean 'writes'?",
        ),
        (
            "partitions: 3",
            "replicas: 3",
            "11:69: components.kafka.topics.lines.replicas: ",
            "3 replicas need as many brokers, and the cluster has 1: add nodes or ask for fewer",
        ),
        (
            "partitions: 3",
            "partitions: 0",
            "11:71: components.kafka.topics.lines.partitions: ",
            "0 is too small: at least 1",
        ),
        (
            "job.py",
            "jop.py",
            "13:50: components.counter.job: ",
            "there is no file 'jop.py' beside the declaration. Did you mean 'job.py'?",
        ),
        (
            "kind: producer",
            "kind: produser",
            "12:16: components.poet.kind: ",
            "there is no kind 'produser' of components. Did you mean 'producer'?",
        ),
        (
            "kind: cut",
            "kind: flood",
            "16:12: faults.0.kind: ",
            f"there is no kind 'flood' of faults. {listing(FAULTS)}",
        ),
        (
            "kind: cut, ",
            "",
            "16:5: faults.0.kind: ",
            f"is missing: each of the faults needs a 'kind'. Known: {', '.join(FAULTS)}.",
        ),
        (
            "bootstrap}",
            "bootstap}",
            "13:95: components.counter.args.0: ",
            "nothing answers to {kafka.bootstap}. Did you mean 'kafka.bootstrap'?",
        ),
        (
            "at: 20s",
            "at: 90s",
            "16:21: faults.0.at: ",
            "it begins at 90s, but the load lasts only 1min: begin earlier, or lengthen `duration` "
            "to 95s or more",
        ),
        (
            "lasts: 5s",
            "lasts: 50s",
            "16:33: faults.0.lasts: ",
            "it ends at 70s, but the load lasts only 1min: begin earlier, or lengthen `duration` "
            "to 70s or more",
        ),
        (
            "topic: lines",
            "topic: lins",
            "18:28: checks.0.topic: ",
            "no topic 'lins'. Did you mean 'lines'?",
        ),
        (
            "[broker1],",
            "broker1,",
            "11:31: components.kafka.nodes: ",
            "'broker1' is not a list: write entries in brackets, such as [first, second]",
        ),
        (
            "[broker1, core]",
            "[broker1]",
            "9:8: topology.links.2.ends.1: ",
            "is missing: topology.links.2.ends needs 2 entries",
        ),
        (
            "[broker1, core]",
            "[broker_1, core]",
            "9:15: topology.links.2.ends.0: ",
            f"'broker_1' cannot be a name: {NODE_RULE}",
        ),
        (
            "counts: {}}",
            "counts: {}}, settings: {a: [1]}",
            "11:99: components.kafka.settings.a: ",
            "a list is not a setting: write text, a number, true or false",
        ),
        (
            "rate: 500/s",
            "acks: 2",
            "12:59: components.poet.acks: ",
            "2 is not allowed: write one of 'all', 0 or 1",
        ),
        ("rate: 500/s", "key: tab", "12:3: components.poet: ", "key: tab needs a file"),
        (
            "rate: 500/s",
            "name: x",
            "12:53: components.poet.name: ",
            "unknown key 'name': a component's name is its key",
        ),
        ("name: word-count", "name: 7", "2:7: name: ", "7 is not text: put it in quotes, '7'"),
        (
            "name: word-count",
            "name: []",
            "2:1: name: ",
            "a list is not text: write one word or put it in quotes",
        ),
        (
            "  reader:",
            "  9reader:",
            "14:3: components.9reader: ",
            f"'9reader' cannot be a name: {NAME_RULE}",
        ),
        (
            "  reader:",
            "  poet:",
            "14:3: components.poet: ",
            "this key is given twice: remove one, or give it another name",
        ),
        (
            "  reader:",
            "  witness:",
            "14:3: components.witness: ",
            "a component cannot be called 'witness': the word has another meaning",
        ),
        ("version: 1", "version: 2", "1:10: version: ", "this streambed reads version 1, not 2"),
        ("version: 1\n", "", "1:1: version: ", "is missing: write 'version: 1' at the top"),
    ],
)
def test_a_mistake_is_reported_with_its_place(
    tmp_path: Path, old: str, new: str, place: str, says: str
) -> None:
    assert complaints(tmp_path, spoilt(old, new)) == [f"a.yaml:{place}{says}"]


def test_all_mistakes_are_reported_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = (
        spoilt("delay: 20ms", "delya: 20ms")
        .replace("node: edge, reads", "node: egde, reads")
        .replace("lasts: 5s", "lasts: 5")
    )

    keys = [line.split(" ")[1] for line in complaints(tmp_path, text)]

    assert keys == ["topology.links.0.delya:", "components.reader.node:", "faults.0.lasts:"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (
            b"",
            "a.yaml:1:1: the file is empty: it should declare an experiment, from 'version: 1' on",
        ),
        (
            b"# nothing\n",
            "a.yaml:1:1: the file is empty: it should declare an experiment, from 'version: 1' on",
        ),
        (b"- a\n- b\n", "a.yaml:1:1: this is not a mapping: begin with 'version: 1'"),
        (
            b"version: 1\nname: [a\n",
            "a.yaml:3:1: this is not YAML: expected ',' or ']', but got '<stream end>'",
        ),
        (
            b"name: \xff\n",
            "a.yaml: this is not a text file (byte 6 is 0xff): name a YAML file in UTF-8",
        ),
        (b"a: 1\n---\nb: 2\n", "a.yaml:2:1: this is not YAML: but found another document"),
        (
            b"a: \x07\n",
            "a.yaml:1:1: this is not YAML: unacceptable character #x0007: special characters are "
            "not allowed",
        ),
    ],
)
def test_a_file_that_is_no_declaration_is_reported_in_one_sentence(
    tmp_path: Path, content: bytes, says: str
) -> None:
    (tmp_path / "a.yaml").write_bytes(content)

    with pytest.raises(DeclarationError) as refused:
        read(tmp_path / "a.yaml")

    assert str(refused.value) == f"{tmp_path}/{says}"


def test_a_missing_file_or_a_directory_is_reported(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match="there is no such file"):
        read(tmp_path / "nowhere.yaml")
    with pytest.raises(DeclarationError, match="this is a directory: name the file in it"):
        read(tmp_path)


def test_anchors_and_merges_are_followed(tmp_path: Path) -> None:
    text = spoilt(
        "{ends: [cluster, core], delay: 2ms}", "{<<: *slow, ends: [cluster, core]}"
    ).replace("- {ends: [edge", "- &slow {ends: [edge")

    link = read(write(tmp_path, text)).topology.links[1]

    assert (link.ends, link.delay) == (("cluster", "core"), Duration(20e6))


def test_a_list_that_contains_itself_is_refused(tmp_path: Path) -> None:
    assert "a.yaml:5:13: topology.switches.0: it contains itself" in complaints(
        tmp_path, spoilt("[core]", "&loop [*loop]")
    )


def test_a_declaration_as_plain_content_is_read_back_the_same(tmp_path: Path) -> None:
    experiment = read(write(tmp_path))

    assert TypeAdapter(Experiment).validate_python(experiment.declaration()) == experiment
    assert experiment.declaration()["topology"]["links"][0]["delay"] == "20ms"

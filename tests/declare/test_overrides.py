"""`--set key=value` changes one value, and points at itself when it is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from streambed.declare.yaml.document import document_of
from streambed.declare.yaml.keys import keys_of
from streambed.declare.yaml.overrides import override
from streambed.declare.yaml.reader import read
from streambed.kinds.components import Producer
from streambed.units import Duration
from tests.support.declare.samples import GOOD, complaints, write

KEYS = sorted(keys_of(Producer))
PRODUCER_KEYS = f"Known: {', '.join(KEYS[:8])}, and {len(KEYS) - 8} more."


def test_a_value_in_the_file_is_changed(tmp_path: Path) -> None:
    experiment = read(
        write(tmp_path), ["duration=30s", "topology.links.0.delay=50ms", "components.poet.keys=5"]
    )

    assert (experiment.duration, experiment.topology.links[0].delay) == (
        Duration(30e9),
        Duration(50e6),
    )
    assert experiment.declaration()["components"]["poet"]["keys"] == 5


def test_keys_that_the_file_leaves_out_can_be_given(tmp_path: Path) -> None:
    experiment = read(
        write(tmp_path),
        [
            "topology.links.1.back.delay=7ms",
            "components.kafka.settings.num.io.threads=4",
            "faults=[]",
        ],
    )

    assert experiment.topology.links[1].direction("core").delay == Duration(7e6)
    assert experiment.declaration()["components"]["kafka"]["settings"] == {"num.io.threads": 4}
    assert experiment.faults == ()


def test_names_with_dots_are_found(tmp_path: Path) -> None:
    text = GOOD.replace("counts", "word.counts")

    experiment = read(write(tmp_path, text), ["components.kafka.topics.word.counts.partitions=2"])

    assert (
        experiment.declaration()["components"]["kafka"]["topics"]["word.counts"]["partitions"] == 2
    )


def test_the_seed_of_the_caller_comes_last(tmp_path: Path) -> None:
    assert read(write(tmp_path), ["seed=3"], seed=9).seed == 9


@pytest.mark.parametrize(
    ("override", "says"),
    [
        ("duration", "write a key, '=' and a value, such as duration=60s"),
        ("=3", "write a key, '=' and a value, such as duration=60s"),
        (
            "duration=3",
            "duration: 3 is not a duration: write a number and one of ns, us, ms, s, min, h, such "
            "as '20ms'",
        ),
        ("durtion=3s", "durtion: an experiment has no key 'durtion'. Did you mean 'duration'?"),
        (
            "components.poe.rate=3/s",
            "components.poe.rate: there is no 'poe' in 'components'. Did you mean 'poet'?",
        ),
        (
            "components.poet.rat=3/s",
            "components.poet.rat: a producer has no key 'rat'. Did you mean 'rate'?",
        ),
        (
            "components.poet.name=x",
            f"components.poet.name: a producer has no key 'name'. {PRODUCER_KEYS}",
        ),
        (
            "topology.links.3.delay=1s",
            "topology.links.3.delay: there is no '3' in 'topology.links', which has 3 entries, "
            "counted from 0",
        ),
        (
            "topology.links.x.delay=1s",
            "topology.links.x.delay: there is no 'x' in 'topology.links', which has 3 entries, "
            "counted from 0",
        ),
        ("name.x=1", "name.x: there is no 'x' in 'name', which holds no keys"),
        ("name=[", "name: this is not YAML: expected the node content, but found '<stream end>'"),
        (
            "components.poet.node=egde",
            "components.poet.node: there is no node 'egde'. Did you mean 'edge'?",
        ),
        ("topology.links.0.loss=101%", "topology.links.0.loss: 101% is more than 100 %"),
    ],
)
def test_a_wrong_override_points_at_itself(tmp_path: Path, override: str, says: str) -> None:
    assert complaints(tmp_path, GOOD, override) == [f"--set {override}: {says}"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("50ms", "50ms"),
        (5, "5"),
        ("5", '"5"'),
        (True, "true"),
        ([], "[]"),
        ({"kind": "cut"}, '{"kind": "cut"}'),
        ("a: b", '"a: b"'),
    ],
)
def test_a_value_of_python_is_written_so_that_it_is_read_back_the_same(
    value: object, text: str
) -> None:
    assert override("key", value) == f"key={text}"
    assert document_of(text).content == value

"""Usual mistakes, each with the message that it gets: the place, what was found, what to write.

Mistakes of the command line are in tests/cli, those that only a running job shows in
tests/agents/test_spark_driver.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from streambed.declare.yaml.reader import read
from streambed.errors import DeclarationError
from tests.support.declare.samples import GOOD, complaints, spoilt, write

DURATION = "write a number and one of ns, us, ms, s, min, h, such as '20ms'"

MISTAKES = {
    "a key is misspelt, and nothing follows from it": (
        ("delay: 20ms, rate", "dealy: 20ms, jitter: 2ms, rate"),
        ["7:28: topology.links.0.dealy: unknown key 'dealy'. Did you mean 'delay'?"],
    ),
    "a unit is missing, and nothing follows from it": (
        ("delay: 20ms, rate", "delay: 20, jitter: 2ms, rate"),
        [f"7:35: topology.links.0.delay: 20 is not a duration: {DURATION}"],
    ),
    "a unit is wrong": (
        ("10Mbit", "10MB"),
        [
            "7:47: topology.links.0.rate: '10MB' is not a bandwidth: write a number and one of "
            "bit, kbit, Mbit, Gbit, such as '10Mbit'"
        ],
    ),
    "a file is missing": (
        ("job: job.py", "job: jop.py"),
        [
            "13:50: components.counter.job: there is no file 'jop.py' beside the declaration. "
            "Did you mean 'job.py'?"
        ],
    ),
    "a node does not exist": (
        ("node: edge, writes", "node: egde, writes"),
        ["12:32: components.poet.node: there is no node 'egde'. Did you mean 'edge'?"],
    ),
    "more replicas than brokers": (
        ("{partitions: 3}", "{replicas: 3}"),
        [
            "11:69: components.kafka.topics.lines.replicas: 3 replicas need as many brokers, and "
            "the cluster has 1: add nodes or ask for fewer"
        ],
    ),
    "a fault begins after the end": (
        ("at: 20s", "at: 90s"),
        [
            "16:21: faults.0.at: it begins at 90s, but the load lasts only 1min: begin earlier, or "
            "lengthen `duration` to 95s or more"
        ],
    ),
    "a fault has no time": (
        ("at: 20s, ", ""),
        [
            "16:5: faults.0.at: the time is missing: give `at`, or `after` or `when` for a "
            "trigger, or `churn`"
        ],
    ),
    "a trigger names no topic": (
        ("at: 20s", "after: 9 acked on liens"),
        ["16:24: faults.0.after: there is no topic 'liens'. Did you mean 'lines'?"],
    ),
    "a trigger has no such form": (
        ("at: 20s", "when: poet dies"),
        [
            "16:23: faults.0.when: 'poet dies' is not a trigger: write 'leader of TOPIC/PARTITION "
            "changes', or 'JOB has written batch N and not committed it', or 'PRODUCER is "
            "committing', such as 'leader of lines/0 changes'"
        ],
    ),
    "a tab indents": (
        ("  switches: [core]", "\tswitches: [core]"),
        ["5:1: this is a tab, which YAML does not allow here: use spaces, not tabs"],
    ),
    "a rate is negative": (
        ("500/s", "-500/s"),
        ["12:59: components.poet.rate: '-500/s' is negative: write '500/s' or another frequency"],
    ),
    "a kind is misspelt, and so is another key of the entry": (
        (
            "{kind: consumer, node: edge, reads: counts}",
            "{kind: consmuer, node: egde, reads: lines, gruop: x}",
        ),
        [
            "14:18: components.reader.kind: there is no kind 'consmuer' of components. "
            "Did you mean 'consumer'?",
            "14:34: components.reader.node: there is no node 'egde'. Did you mean 'edge'?",
            "14:54: components.reader.gruop: unknown key 'gruop'. Did you mean 'group'?",
        ],
    ),
    "a misspelt kind does not hide a wrong topic": (
        ("{kind: consumer, node: edge, reads: counts}", "{kind: consmuer, node: edge, reads: x}"),
        [
            "14:18: components.reader.kind: there is no kind 'consmuer' of components. "
            "Did you mean 'consumer'?",
            "14:47: components.reader.reads: no kafka component declares the topic 'x'. "
            "Known: counts, lines.",
        ],
    ),
    "a check names a topic and a component that do not exist": (
        ("topic: lines}\n", "topic: liens}\n  - {kind: latency, of: raeder, p95: 1s}\n"),
        [
            "18:28: checks.0.topic: no topic 'liens'. Did you mean 'lines'?",
            "19:25: checks.1.of: no consumer, sink or job is called 'raeder'. "
            "Did you mean 'reader'?",
        ],
    ),
    "a reference is misspelt": (
        ("{kafka.bootstrap}", "{kafak.bootstrap}"),
        [
            "13:95: components.counter.args.0: nothing answers to {kafak.bootstrap}. "
            "Did you mean 'kafka.bootstrap'?"
        ],
    ),
    "a link does not exist": (
        ("link: [edge, core]", "link: [edge, cluster]"),
        ["16:37: faults.0.link: there is no link edge – cluster. Did you mean [edge, core]?"],
    ),
    "a switch is misspelt in a link": (
        ("ends: [broker1, core]", "ends: [broker1, coer]"),
        [
            "9:24: topology.links.2.ends.1: no path from 'broker1' to 'edge'. "
            "Is 'coer' meant to be the switch 'core'?"
        ],
    ),
    "two parts of the network have no link": (
        ("ends: [broker1, core]", "ends: [broker1, attic]"),
        [
            "9:8: topology.links.2.ends: no path from 'broker1' to 'edge': "
            "add a link between the two parts"
        ],
    ),
    "a key stands there twice": (
        ("  reader:", "  poet:"),
        ["14:3: components.poet: this key is given twice: remove one, or give it another name"],
    ),
    "the topic of a role does not exist": (
        (
            "{kind: cut, at: 20s, lasts: 5s, link: [edge, core]}",
            "{kind: kill, at: 20s, lasts: 5s, target: leader of liens/0}",
        ),
        [
            "16:46: faults.0.target: no kafka component declares the topic 'liens'. "
            "Did you mean 'lines'?"
        ],
    ),
    "a phase names a fault that is not declared": (
        (
            "topic: lines}\n",
            "topic: lines}\n  - {kind: latency, of: reader, p95: 1s, during: ct}\n",
        ),
        [
            "19:50: checks.1.during: no fault of kind 'ct' is declared. Did you mean 'cut'?",
        ],
    ),
    "the warm-up takes the whole load": (
        ("duration: 60s\n", "duration: 60s\nwarm_up: 2min\n"),
        [
            "4:10: warm_up: 2min leaves nothing of a load that lasts 1min: "
            "shorten it, or lengthen `duration`"
        ],
    ),
    "two servers want one port": (
        ("  reader:", "  a: {kind: redis, node: edge}\n  b: {kind: redis, node: edge}\n  reader:"),
        [
            "15:26: components.b.node: 'edge' runs 'a' already, and both would want port "
            "6379: give one another `port` or node"
        ],
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_message_says_where_and_what_to_write(tmp_path: Path, mistake: str) -> None:
    (old, new), says = MISTAKES[mistake]

    assert complaints(tmp_path, spoilt(old, new)) == [f"a.yaml:{line}" for line in says]


@pytest.mark.parametrize("limit", ["p50", "p90", "p95", "p99", "p999", "max"])
def test_every_usual_percentile_is_a_key(tmp_path: Path, limit: str) -> None:
    text = GOOD + f"  - {{kind: latency, of: reader, {limit}: 1s}}\n"

    assert len(read(write(tmp_path, text)).checks) == 2


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (
            b"",
            "a.yaml:1:1: the file is empty: it should declare an experiment, from 'version: 1' on",
        ),
        (
            b"\x7fELF\x02\x01\x01\x00\xff",
            "a.yaml: this is not a text file (byte 8 is 0xff): name a YAML file in UTF-8",
        ),
    ],
)
def test_a_file_that_declares_nothing_is_refused(tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "a.yaml").write_bytes(content)

    with pytest.raises(DeclarationError) as refused:
        read(tmp_path / "a.yaml")

    assert str(refused.value).replace(f"{tmp_path}/", "") == says


def test_an_override_of_an_unknown_key_names_the_known_ones(tmp_path: Path) -> None:
    assert complaints(tmp_path, GOOD, "duratoin=5s", "topology.links.7.delay=1ms") == [
        "--set duratoin=5s: duratoin: an experiment has no key 'duratoin'. "
        "Did you mean 'duration'?",
        "--set topology.links.7.delay=1ms: topology.links.7.delay: there is no '7' in "
        "'topology.links', which has 3 entries, counted from 0",
    ]


def test_a_wrong_fault_does_not_make_a_phase_look_wrong(tmp_path: Path) -> None:
    text = spoilt("at: 20s", "at: 20") + "  - {kind: latency, of: reader, p95: 1s, during: cut}\n"

    assert complaints(tmp_path, text) == [
        f"a.yaml:16:21: faults.0.at: 20 is not a duration: {DURATION}"
    ]

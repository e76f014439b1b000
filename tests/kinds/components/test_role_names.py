import pytest

from streambed import Command, Consumer, Kafka, Producer, SparkJob
from streambed.kinds.components.roles import Role, broker_for, role, role_problems

KAFKA = Kafka(name="kafka", nodes=("b1", "b2"), topics={"lines": {"partitions": 3}, "words": {}})
OTHER = Kafka(name="other", nodes=("c1",), topics={"counts": {}})
READER = Consumer(name="reader", node="home", reads="counts", group="readers")
COMPONENTS = {"kafka": KAFKA, "reader": READER}


def said(target: str, components: dict[str, object] = COMPONENTS) -> list[str]:
    return [problem.says for problem in role_problems(target, components, "target")]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("leader of lines/2", Role(kind="leader", of="lines", partition=2)),
        ("leader of lines", Role(kind="leader", of="lines")),
        ("controller", Role(kind="controller")),
        ("controller of kafka", Role(kind="controller", of="kafka")),
        ("coordinator of readers", Role(kind="coordinator", of="readers")),
        ("follower of lines/1", Role(kind="follower", of="lines", partition=1)),
        (
            "transaction coordinator of poet/edge",
            Role(kind="transaction coordinator", of="poet/edge"),
        ),
        ("driver of shout", Role(kind="driver", of="shout")),
        ("executor of shout", Role(kind="executor", of="shout")),
        ("kafka/b1", None),
        ("leader of lines/x", None),
        ("coordinator of readers/1", None),
    ],
)
def test_a_role_is_recognised_by_its_words(text, wanted):
    assert role(text) == wanted


@pytest.mark.parametrize(
    "target",
    [
        "leader of lines/2",
        "leader of words",
        "controller",
        "controller of kafka",
        "coordinator of readers",
        "follower of lines/0",
    ],
)
def test_a_role_that_can_be_held_is_no_problem(target):
    assert said(target) == []


@pytest.mark.parametrize(
    "target", ["leader lines/0", "laeder of lines/0", "coordinator", "leader of lines/x"]
)
def test_a_misspelt_role_is_answered_with_what_can_be_written(target):
    assert said(target) == [
        f"'{target}' is not a role: write one of leader of TOPIC/PARTITION, "
        "follower of TOPIC/PARTITION, controller, controller of KAFKA, coordinator of GROUP, "
        "transaction coordinator of PRODUCER, driver of JOB, executor of JOB"
    ]


def test_an_unknown_topic_partition_group_or_kafka_is_reported():
    assert said("leader of line/0") == [
        "no kafka component declares the topic 'line'. Did you mean 'lines'?"
    ]
    assert said("leader of lines/3") == ["'lines' has partitions 0 to 2, not 3"]
    assert said("leader of words/1") == ["'words' has only partition 0, not 1"]
    assert said("coordinator of reader") == [
        "no consumer is in the group 'reader'. Did you mean 'readers'?"
    ]
    assert said("controller of kafak") == [
        "there is no kafka component 'kafak'. Did you mean 'kafka'?"
    ]
    assert said("controller", {}) == ["there is no kafka component, so there is no controller"]


def test_a_program_may_use_any_group():
    assert (
        said(
            "coordinator of its-own",
            {**COMPONENTS, "program": Command(name="program", node="home", argv=("true",))},
        )
        == []
    )


def test_of_several_clusters_the_one_is_meant_that_has_the_topic():
    both = {"kafka": KAFKA, "other": OTHER, "reader": READER}

    assert said("controller", both) == [
        "several kafka components have a controller: write one of controller of kafka, controller "
        "of other"
    ]
    assert broker_for(Role(kind="controller", of="other"), both) is OTHER
    assert broker_for(Role(kind="leader", of="counts"), both) is OTHER
    assert broker_for(Role(kind="coordinator", of="readers"), both) is OTHER
    assert broker_for(Role(kind="leader", of="lines"), both) is KAFKA


def test_a_role_of_a_job_or_of_a_transaction_must_name_one():
    components = {
        **COMPONENTS,
        "shout": SparkJob(name="shout", node="home", job="shout.py"),
        "bank": Producer(name="bank", node="home", writes="lines", transaction={"records": 5}),
    }
    assert said("driver of shout", components) == []
    assert said("transaction coordinator of bank", components) == []
    assert said("driver of shuot", components) == ["there is no job 'shuot'. Did you mean 'shout'?"]
    assert said("executor of shout", components) == [
        "'shout' has no executors: its driver runs the tasks. Write 'driver of shout', or run it "
        "on a spark_cluster"
    ]
    assert said("transaction coordinator of reader", components) == [
        "no producer sends transactions as 'reader'. Known: bank."
    ]
    assert said("follower of counts/0", {"other": OTHER}) == [
        "other has one broker, so the leader of 'counts' has no followers"
    ]

"""What a run demands before it begins, and what doctor says of it: the needs of the kinds that are
declared.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from streambed import artifacts
from streambed.artifacts import Need
from streambed.errors import MissingError
from streambed.kinds.tables import COMPONENTS
from streambed.plan import Plan
from streambed.runner import doctor, launcher
from tests.support.bare_world import small_plan


class OwnServer:
    """An artifact of a kind from outside the package, which is not there."""

    name = "nats"

    def fetch(self, on_progress: artifacts.Progress) -> list[str]:
        raise AssertionError

    def demand(self) -> None:
        raise MissingError("nats needs its server", command="streambed fetch nats")


class Nats:
    needs = (OwnServer(),)


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STREAMBED_CACHE", str(tmp_path / "cache"))


def plan_of(*kinds: str) -> Plan:
    components = {f"component{at}": {"kind": kind} for at, kind in enumerate(kinds)}
    return cast("Plan", SimpleNamespace(declaration={"components": components}))


def test_a_run_is_refused_if_what_a_cluster_needs_is_missing() -> None:
    with pytest.raises(MissingError, match=r"spark_job needs .* Run: streambed fetch spark_job"):
        launcher.launch(plan_of("consumer", "spark_cluster"))


def test_a_run_demands_what_several_kinds_need_once(monkeypatch: pytest.MonkeyPatch) -> None:
    demanded: list[Need] = []

    def demand(need: Need) -> None:
        demanded.append(need)
        if need == "spark_job":
            raise MissingError("enough")

    monkeypatch.setattr(artifacts, "demand", demand)
    with pytest.raises(MissingError, match="enough"):
        launcher.launch(plan_of("spark_job", "spark_cluster", "kafka", "kafka", "producer"))

    assert demanded == ["kafka", "spark_job"]


def test_doctor_says_what_is_missing_and_the_command_apart() -> None:
    findings = {finding.what: finding for finding in doctor._artifacts()}

    assert list(findings) == ["kafka", "spark_job", "hdfs", "postgresql", "mariadb", "cassandra"]
    assert findings["kafka"].says.endswith(f"missing or damaged in {artifacts.cache()}/jars")
    assert (findings["kafka"].mend, findings["kafka"].optional) == ("streambed fetch kafka", False)
    assert (findings["hdfs"].mend, findings["hdfs"].optional) == ("streambed fetch hdfs", True)


def test_doctor_asks_for_the_artifact_of_a_kind_from_outside(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(cast("dict[str, Any]", COMPONENTS), "nats", Nats)

    findings = {finding.what: finding for finding in doctor._artifacts()}

    assert (findings["nats"].says, findings["nats"].mend) == (
        "nats needs its server",
        "streambed fetch nats",
    )


class VersionedServer(OwnServer):
    """Such an artifact that knows its version."""

    def version(self) -> str:
        return "2.12.1"


@pytest.mark.parametrize(
    ("need", "versions"), [(VersionedServer(), {"nats": "2.12.1"}), (OwnServer(), {})]
)
def test_versions_of_a_run_name_what_an_artifact_says_of_itself(
    need: Need, versions: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(
        cast("dict[str, Any]", COMPONENTS), "nats", type("Nats", (), {"needs": (need,)})
    )
    plan = small_plan(Path(), declaration={"components": {"server": {"kind": "nats"}}})

    written = launcher.versions_of(plan)

    assert {name: written[name] for name in written if name == "nats"} == versions


def test_versions_of_a_run_name_the_servers_of_declared_kinds() -> None:
    declared = {"brokers": {"kind": "kafka"}, "reader": {"kind": "consumer"}}
    plan = small_plan(Path(), declaration={"components": declared})

    assert launcher.versions_of(plan)["kafka"] == artifacts.version_of("kafka") != ""

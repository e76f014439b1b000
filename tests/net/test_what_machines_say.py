"""What is concluded from files of the kernel and from the findings of the probe."""

from __future__ import annotations

from pathlib import Path

from streambed.net import box_entry, machine, network
from streambed.net.machine import Findings
from streambed.plan import Shape
from tests.support.small_plans import MS, star


def test_root_keeps_every_id_that_it_has() -> None:
    assert (
        box_entry.identity_map("0 100000 65536\n70000 300000 10\n") == "0 0 65536\n70000 70000 10"
    )


def test_a_setting_that_forbids_namespaces_is_named_with_the_command_that_allows_them() -> None:
    message = box_entry.remedy(
        {"user/max_user_namespaces": "0", "kernel/apparmor_restrict_unprivileged_userns": "1"}
    )

    assert message.startswith(
        "to allow it: sudo sysctl user.max_user_namespaces=10000 && sudo sysctl kernel.apparmor"
    )


def test_where_no_setting_forbids_them_a_container_does() -> None:
    assert "--privileged" in box_entry.remedy({"user/max_user_namespaces": "96343"})


def test_netem_is_preferred_to_the_delay_line() -> None:
    assert machine.means_of(Findings(netem=True, queue=True)) == "netem"
    assert machine.means_of(Findings(queue=True)) == "delay_line"
    assert machine.means_of(Findings()) == "none"


def test_a_machine_without_namespaces_says_why() -> None:
    assert machine.notes_of(Findings(refusals=["because"])) == ("because",)


def test_a_machine_that_can_do_everything_has_nothing_to_say() -> None:
    assert (
        machine.notes_of(
            Findings(namespaces=True, tbf=True, netem=True, arrivals=True, queue=True, filter=True)
        )
        == ()
    )


def test_a_machine_without_packet_rules_says_that_partitions_are_refused() -> None:
    (message,) = machine.notes_of(Findings(namespaces=True, tbf=True, netem=True, arrivals=True))

    assert "partitions are refused" in message


def test_a_machine_that_cannot_redirect_what_arrives_says_what_differs_and_how_to_mend_it() -> None:
    (message,) = machine.notes_of(Findings(namespaces=True, tbf=True, netem=True, filter=True))

    assert (
        "fills that link's queue too; try: sudo modprobe -a ifb sch_ingress cls_matchall act_mirred"
        in message
    )


def test_every_node_is_known_by_name() -> None:
    assert network.names_file(star(Shape(delay_ns=MS))) == (
        "127.0.0.1 localhost\n10.0.0.1 a a.streambed\n10.255.0.1 switch1 "
        "switch1.streambed\n10.0.0.2 b b.streambed\n"
    )


def test_a_folder_in_tmp_that_a_run_uses_stays_visible(tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(Path, "exists", lambda path: True)

    assert Path("/tmp/my-runs") in network.visible_in_tmp(
        star(Shape()), Path("/tmp/my-runs/first/1")
    )

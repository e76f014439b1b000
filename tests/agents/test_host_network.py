"""An agent of several hosts enters their networks before it imports anything else."""

from __future__ import annotations

import os
import threading

import pytest

from streambed.agents import host_network


def test_outside_any_box_a_client_is_made_in_the_calling_thread(monkeypatch):
    monkeypatch.setenv("STREAMBED_NETWORKS", "")

    assert host_network.call_in("edge", threading.get_native_id) == threading.get_native_id()


def test_a_network_that_was_not_entered_at_the_start_is_refused(monkeypatch):
    monkeypatch.setenv("STREAMBED_NETWORKS", "edge=7")

    with pytest.raises(RuntimeError, match="the network of edge was not entered"):
        host_network.call_in("edge", os.getpid)


def test_a_process_with_other_threads_enters_no_network(monkeypatch):
    monkeypatch.setenv("STREAMBED_NETWORKS", "edge=7")
    ended = threading.Event()
    other = threading.Thread(target=ended.wait)
    other.start()

    try:
        with pytest.raises(RuntimeError, match="another thread runs already"):
            host_network.enter_all()
    finally:
        ended.set()
        other.join()

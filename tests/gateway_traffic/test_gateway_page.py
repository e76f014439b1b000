"""The page: what it shows, how far the job is behind, and how it looks in a real browser."""

from __future__ import annotations

import asyncio
import http.client
import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from aiohttp.test_utils import TestClient, TestServer

from gateway_traffic.page.lag import offsets_done
from gateway_traffic.page.server import application
from gateway_traffic.page.state import Look, State, rates
from gateway_traffic.stores.sqlite import SqliteStore
from gateway_traffic.stores.store import Anomaly, Part

pytestmark = pytest.mark.together(5)
DAY = 19_723
QUIET = (
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def filled_store(path: Path) -> SqliteStore:
    """A store with two days of thirty gateways."""
    opened = SqliteStore(path)
    parts = [
        Part(f"gw-{number:06d}", DAY, 0, 1e9 * number, 9e9 * (30 - number), 48)
        for number in range(30)
    ]
    opened.write("query", 0, [*parts, Part("gw-000001", DAY - 1, 0, 5.0, 6.0, 1)])
    return opened


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = filled_store(tmp_path / "traffic.db")
    yield opened
    opened.close()


def test_it_shows_the_newest_day_unless_another_is_named(store):
    state = State(store, lambda: 7)
    state.look(1.0)

    assert state.as_json()["day"]["date"] == "2024-01-01"
    assert state.as_json()["day"]["top_sent"][0] == ("gw-000029", 29e9)
    assert state.as_json("2023-12-31")["day"]["records"] == 1
    assert (state.as_json()["lag"], state.as_json()["days"]) == (7, ["2023-12-31", "2024-01-01"])


def test_an_empty_store_has_no_day_to_show(tmp_path):
    state = State(SqliteStore(tmp_path / "empty.db"), lambda: None)
    state.look(1.0)

    assert state.as_json()["day"] is None


def test_rates_are_over_the_last_ten_seconds():
    looks = [Look(second, 100 * second, 1e6 * second, None) for second in range(5)]

    assert rates(looks) == (100.0, 1e6)
    assert rates([*looks, Look(40, 400, 4e6, None)]) == (0.0, 0.0)
    assert rates(looks[:1]) == (0.0, 0.0)


def test_the_slowest_query_of_a_checkpoint_tells_what_is_done(tmp_path):
    for query, batch, offset in (("traffic", 3, 40), ("letters", 9, 90)):
        for folder in ("commits", "offsets"):
            (tmp_path / query / folder).mkdir(parents=True)
        (tmp_path / query / "commits" / str(batch)).write_text("v1\n{}")
        (tmp_path / query / "offsets" / str(batch)).write_text(
            f'v1\n{{"batchWatermarkMs":0}}\n{{"lines":{{"0":{offset},"1":50}}}}'
        )
        (tmp_path / query / "offsets" / str(batch + 1)).write_text("a batch that is not done")

    assert offsets_done(tmp_path, "lines") == {0: 40, 1: 50}
    assert offsets_done(tmp_path, "others") == {}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The page of a store with something in it, one server for all tests."""
    path = tmp_path_factory.mktemp("page") / "traffic.db"
    filled_store(path).close()
    command = [
        sys.executable,
        "-m",
        "gateway_traffic",
        "page",
        "--store",
        str(path),
        "--port",
        "0",
    ]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout
        yield server.stdout.readline().removeprefix("ready ").strip()
    finally:
        server.terminate()
        server.communicate(timeout=20)
        assert server.returncode == 0


def test_the_page_needs_nothing_from_elsewhere(url):
    with urllib.request.urlopen(url) as answer:
        text, policy = answer.read().decode(), answer.headers["Content-Security-Policy"]
    with urllib.request.urlopen(f"{url}/state.json") as answer:
        state = json.load(answer)

    assert "http" not in text.replace("http-equiv", "")
    assert policy.startswith("default-src 'none'")
    assert "frame-ancestors 'none'" in policy and "unsafe-inline" not in policy
    assert state["trouble"] == ""


@pytest.mark.parametrize(
    ("host", "status"),
    [("evil.example", 421), ("evil.example:{port}", 421), ("", 421), ("localhost:{port}", 200)],
)
def test_a_name_that_is_not_the_servers_is_refused(url, host, status):
    port = url.rpartition(":")[2]
    connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=10)
    connection.putrequest("GET", "/state.json", skip_host=True)
    connection.putheader("Host", host.replace("{port}", port))
    connection.endheaders()
    try:
        assert connection.getresponse().status == status
    finally:
        connection.close()


def test_a_store_with_odd_numbers_gives_valid_json_that_names_them(store, tmp_path):
    async def state_json(odd: Part) -> dict[str, object]:
        store.write("query", 1, [odd])
        page = application(State(store, lambda: None), 0.05, set())
        async with TestClient(TestServer(page)) as client:
            while True:
                answer = await client.get("/state.json")
                assert answer.status == 200
                state = json.loads(await answer.text(), parse_constant=pytest.fail)
                if state["trouble"]:
                    return state
                await asyncio.sleep(0.02)

    infinite = asyncio.run(state_json(Part("gw-odd", DAY, 1, float("inf"), 1.0, 1)))
    assert infinite["trouble"] == "the store has a sum that is no number, on 2024-01-01"
    assert infinite["day"]["sent"] is None
    far = asyncio.run(state_json(Part("gw-odd", 99_999_999, 0, 1.0, 1.0, 1)))
    assert far["days"] == ["2023-12-31", "2024-01-01"]
    assert "sum that is no number" in far["trouble"]


def test_a_day_that_is_no_date_is_left_out(tmp_path):
    store = SqliteStore(tmp_path / "odd.db")
    store.write(
        "query", 0, [Part("gw-1", DAY, 0, 1.0, 1.0, 1), Part("gw-1", 10**9, 0, 1.0, 1.0, 1)]
    )
    state = State(store, lambda: None)
    state.look(1.0)

    assert state.as_json()["days"] == ["2024-01-01"]
    trouble = state.as_json()["trouble"]
    assert trouble == "the store has a day that is no date: 1000000000 days since 1970"
    store.close()


def test_the_trouble_of_a_state_is_that_of_the_same_look(store):
    def look_again(day: int) -> list[Anomaly]:
        store.write("query", 1, [Part("gw-odd", DAY, 1, float("inf"), 1.0, 1)])
        state.look(2.0)
        return []

    async def state_json() -> dict[str, object]:
        page = application(state, 1000, set())
        async with TestClient(TestServer(page)) as client:
            return await (await client.get("/state.json")).json()

    state = State(store, lambda: None)
    state.look(1.0)
    store.anomalies = look_again  # As if the page's own look came between.
    answer = asyncio.run(state_json())

    assert answer["day"]["records"] == 30 * 48
    assert answer["trouble"] == ""


@pytest.mark.browser
def test_a_browser_shows_the_busiest_gateways(url, browser, tmp_path):
    flags = (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        *QUIET,
        f"--user-data-dir={tmp_path}/profile",
        "--virtual-time-budget=5000",
    )
    done = subprocess.run(
        [browser, *flags, "--dump-dom", url],
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    )

    assert 'data-shown="1440"' in done.stdout
    assert done.stdout.count('<div class="bar"') == 20
    assert '<p id="script-errors" role="alert"></p>' in done.stdout
    assert "gw-000029" in done.stdout and "29 GB" in done.stdout


def test_what_is_unusual_is_shown_if_the_store_knows_it(store):
    class Anomaly(NamedTuple):
        gateway_id: str
        day: int
        part: int
        score: float

    store.anomalies = lambda day: [Anomaly("gw-1", day, 3, 4.5), Anomaly("gw-2", day, 7, 9.0)]
    state = State(store, lambda: None)
    state.look(1.0)

    assert [each["gateway_id"] for each in state.as_json()["anomalies"]] == ["gw-2", "gw-1"]

"""What every store of traffic promises."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gateway_traffic.errors import GatewayTrafficError, NoStoreError, ServiceError, UsageError
from gateway_traffic.stores.opening import open_store
from gateway_traffic.stores.store import NO_BATCH, Anomaly, Part, TrafficStore
from tests.support.lone_cassandra import lone_cassandra

pytestmark = pytest.mark.together(25)
PARTS = [
    Part("a", 1, 0, 10.0, 1.0, 2),
    Part("a", 1, 1, 5.0, 1.0, 1),
    Part("b", 1, 0, 15.0, 9.0, 1),
    Part("a", 2, 0, 1.0, 1.0, 1),
]
Open = Callable[[], TrafficStore]


@pytest.fixture(scope="module")
def cassandra(tmp_path_factory: pytest.TempPathFactory, store_servers: None) -> Iterator[str]:
    with lone_cassandra(tmp_path_factory.mktemp("cassandra") / "server") as server:
        yield server.address


@pytest.fixture(
    params=[
        "sqlite",
        pytest.param("cassandra", marks=[pytest.mark.spark, pytest.mark.filterwarnings("ignore")]),
    ]
)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Opens the same store each time; a new one for each test."""
    server = request.getfixturevalue("cassandra") if request.param == "cassandra" else ""
    address = (
        f"cassandra://{server}/test_{uuid.uuid4().hex[:8]}"
        if server
        else str(tmp_path / "traffic.db")
    )
    stores: list[TrafficStore] = []

    def make() -> TrafficStore:
        stores.append(open_store(address))
        return stores[-1]

    yield make
    for store in stores:
        store.close()


def test_a_batch_is_there_for_all_queries(opened):
    store = opened()
    store.write("q", 0, PARTS)
    assert store.days() == [(1, 30.0, 11.0, 4), (2, 1.0, 1.0, 1)]
    assert store.totals_of_gateway("a") == [("a", 1, 15.0, 2.0, 3), ("a", 2, 1.0, 1.0, 1)]
    assert store.totals_of_day(1) == [("a", 1, 15.0, 2.0, 3), ("b", 1, 15.0, 9.0, 1)]
    assert store.top(1) == (1, (("a", 15.0), ("b", 15.0)), (("b", 9.0), ("a", 2.0)))
    assert store.totals_of_gateway("c") == [] and store.totals_of_day(7) == []


def test_a_batch_is_written_once_and_a_later_one_takes_its_place(opened):
    store = opened()
    assert store.last_batch("q") == NO_BATCH
    store.write("q", 0, PARTS)
    store.write("q", 0, [Part("a", 2, 0, 99.0, 99.0, 99)])
    assert store.totals_of_day(2) == [("a", 2, 1.0, 1.0, 1)]
    store.write("q", 1, [Part("a", 2, 0, 3.0, 4.0, 2)])
    assert store.totals_of_day(2) == [("a", 2, 3.0, 4.0, 2)]
    assert opened().last_batch("q") == 1


def test_means_are_over_all_gateways_that_reported_in_a_part(opened):
    store = opened()
    store.write("q", 0, PARTS)
    assert store.means(1) == [(1, 0, 12.5, 5.0, 2), (1, 1, 5.0, 1.0, 1)]
    store.write("q", 1, [Part("b", 1, 1, 7.0, 3.0, 1)])
    assert opened().means(1) == [(1, 0, 12.5, 5.0, 2), (1, 1, 6.0, 2.0, 2)]
    assert store.days()[0] == (1, 37.0, 14.0, 5) and store.means(7) == []


def test_an_anomaly_is_kept_with_its_newest_score(opened):
    store = opened()
    store.write("q", 0, PARTS, [Anomaly("a", 1, 1, 6.5), Anomaly("b", 1, 0, 7.5)])
    assert store.anomalies(1) == [("b", 1, 0, 7.5), ("a", 1, 1, 6.5)]
    store.write("q", 1, [], [Anomaly("a", 1, 1, 8.0)])
    assert store.anomalies(1) == [("b", 1, 0, 7.5), ("a", 1, 1, 8.0)] and store.anomalies(2) == []


def test_a_restarted_job_knows_the_day_that_it_resumes_with(opened):
    opened().write("q", 0, PARTS)
    again = opened()
    again.write("q", 1, [Part("c", 1, 0, 100.0, 0.0, 1)])
    assert again.top(1).sent == (("c", 100.0), ("a", 15.0), ("b", 15.0))
    assert again.days()[0] == (1, 130.0, 11.0, 5)


def test_the_ten_busiest_are_ten(opened):
    store = opened()
    store.write(
        "q",
        0,
        [Part(f"g{number:02d}", 1, 0, float(number), 100.0 - number, 1) for number in range(15)],
    )
    top = store.top(1)
    assert [name for name, _ in top.sent] == [f"g{number:02d}" for number in range(14, 4, -1)]
    assert [name for name, _ in top.received] == [f"g{number:02d}" for number in range(10)]


def test_a_batch_that_fails_half_way_leaves_nothing(tmp_path):
    store = open_store(str(tmp_path / "traffic.db"))
    with pytest.raises(ServiceError, match="cannot be used"):
        store.write("q", 0, [PARTS[0], Part("a", 1, 5, None, 1.0, 1)])  # type: ignore[arg-type]
    assert store.days() == [] and store.last_batch("q") == NO_BATCH
    store.close()


def test_a_page_reads_while_a_job_writes(tmp_path):
    path = tmp_path / "traffic.db"
    writer, reader = open_store(str(path)), open_store(str(path), read_only=True)
    writer.write("q", 0, PARTS)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("begin immediate")
    other.execute("delete from traffic")
    assert len(reader.days()) == 2
    for each in (other, writer, reader):
        each.close()


@pytest.mark.parametrize(
    ("address", "read_only", "says"),
    [
        ("{tmp}/none/traffic.db", False, "there is no folder"),
        ("{tmp}/none.db", True, "a job makes it"),
        ("mongodb://here", False, "a store is a file"),
        ("{tmp}/text.db", False, "cannot be used: file is not a database"),
    ],
)
def test_an_impossible_store_is_refused(tmp_path: Path, address, read_only, says):
    (tmp_path / "text.db").write_text("no database " * 100)
    with pytest.raises(GatewayTrafficError, match=says):
        open_store(address.format(tmp=tmp_path), read_only=read_only)


def test_an_address_is_wrong_usage():
    with pytest.raises(UsageError):
        open_store("redis://here")


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")
def test_a_reader_of_cassandra_hears_what_is_missing(cassandra):
    keyspace = f"test_{uuid.uuid4().hex[:8]}"
    address = f"cassandra://{cassandra}/{keyspace}"
    with pytest.raises(NoStoreError, match=f"there is no keyspace {keyspace}"):
        open_store(address, read_only=True)

    store = open_store(address)
    store._session.execute("drop table days")
    with pytest.raises(NoStoreError, match="there is no table days"):
        open_store(address, read_only=True)

    store._session.execute("create table days (era int, day int, primary key (era, day))")
    store.close()
    reader = open_store(address, read_only=True)
    with pytest.raises(UsageError, match=r"cannot be used: .*Undefined column name tx"):
        reader.days()
    reader.close()

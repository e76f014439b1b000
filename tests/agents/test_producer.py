from collections import Counter
from dataclasses import replace

import pytest

from streambed.agents.producer.record_source import (
    add_text_and_headers,
    as_record,
    contents_of,
    from_function,
    random_records,
    repeat_contents,
    source_of,
    topics_of,
)
from streambed.agents.producer.schedule import NEVER, AsFastAsPossible, PendingRecords, schedule_of
from streambed.agents.producer.timetable import Due
from streambed.record import now_ns
from streambed.record.orders import ProducerMember, RecordsOrder, ScheduleOrder

ORDER = ScheduleOrder(rate=10.0, duration_ns=2_000_000_000)
POET = ProducerMember(name="poet")


def times_of(schedule, first=0):
    """When each record is due, by its number."""
    return {
        number: time
        for due in schedule.from_number(first)
        for number, time in zip(due.sequences, due.times, strict=True)
    }


def test_the_lines_of_a_file_come_over_and_over(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\n")

    record_of = repeat_contents(contents_of(tmp_path / "a.txt", "lines"), "none")

    assert [record_of(number) for number in range(3)] == [
        (None, b"one", []),
        (None, b"two", []),
        (None, b"one", []),
    ]


def test_the_text_before_the_first_tab_is_the_key():
    record_of = repeat_contents([b"doc/1\ta\tb", b"no tab"], "tab")

    assert [record_of(0), record_of(1)] == [(b"doc/1", b"a\tb", []), (None, b"no tab", [])]


def test_a_file_may_be_one_record_and_holds_any_bytes(tmp_path):
    (tmp_path / "a.bin").write_bytes(b"\xff\n\x00\r")

    assert contents_of(tmp_path / "a.bin", "whole") == [b"\xff\n\x00\r"]


def test_the_files_of_a_folder_are_records_in_the_order_of_their_names(tmp_path):
    for name in ("b", "a", "c"):
        (tmp_path / name).write_text(f"in {name}")
    (tmp_path / "folder").mkdir()

    assert contents_of(tmp_path, "folder") == [b"in a", b"in b", b"in c"]


def test_an_empty_file_has_no_line_to_send(tmp_path):
    (tmp_path / "a.txt").touch()

    with pytest.raises(SystemExit, match="has nothing to send"):
        contents_of(tmp_path / "a.txt", "lines")


def test_a_text_is_filled_with_the_record_its_number_and_its_topic():
    record_of = add_text_and_headers(
        repeat_contents([b"\xff{n}"], "none"),
        "{record} {n:3} of {topic} {else} {{n}}",
        lambda sequence: "lines",
    )

    assert record_of(11) == (None, b"\xff{n} 012 of lines {else} {12}", [])


def test_at_a_rate_each_record_is_due_at_its_own_time_until_the_load_ends():
    due = times_of(schedule_of(ORDER, POET, held=0, start_ns=1000))

    assert [due.get(number) for number in (0, 1, 19, 20)] == [
        1000,
        100_001_000,
        1_900_001_000,
        None,
    ]


@pytest.mark.parametrize(
    ("wish", "last"), [({"count": 7}, 7), ({"rounds": 2}, 6), ({"count": 100}, 20)]
)
def test_it_ends_after_a_count_or_after_rounds_but_not_after_the_load(wish, last):
    assert schedule_of(replace(ORDER, **wish), POET, held=3, start_ns=0).last == last


def test_without_a_rate_all_records_are_due_at_the_start():
    schedule = schedule_of(replace(ORDER, rate=None, rounds=2), POET, held=3, start_ns=5)

    assert times_of(schedule) == dict.fromkeys(range(6), 5)
    assert (
        len(
            times_of(
                schedule_of(replace(ORDER, rate=None, count=1234), POET, held=0, start_ns=5),
                first=7,
            )
        )
        == 1227
    )


def test_without_a_rate_and_an_end_each_record_is_due_when_it_is_sent():
    start_ns = now_ns()
    schedule = schedule_of(replace(ORDER, rate=None), POET, held=0, start_ns=start_ns)
    over = AsFastAsPossible(start_ns=start_ns - 2, end_ns=start_ns - 1)

    due, later = (next(schedule.from_number(10**9)) for _ in range(2))
    assert due.first == 10**9 and start_ns <= due.times[0] <= later.times[0] <= now_ns()
    assert list(over.from_number(0)) == []


def test_started_again_it_sends_nothing_that_was_due_before_and_uses_no_number_twice():
    start_ns = now_ns() - 1_000_000_000

    assert schedule_of(ORDER, POET, held=0, start_ns=start_ns).first(2) == 11
    assert (
        schedule_of(replace(ORDER, rate=None, count=9), POET, held=0, start_ns=start_ns).first(2)
        == 9
    )
    assert schedule_of(replace(ORDER, rate=None), POET, held=0, start_ns=start_ns).first(2) > 10**9


def test_records_are_taken_as_they_fall_due_and_not_too_many_at_once():
    records = PendingRecords(iter([Due(5, [10, 20, 20, 30, 40]), Due(10, [40, 50])]))

    assert records.next_due() == 10
    assert records.take(9, most=3) == Due(5, [10])
    assert records.take(39, most=2) == Due(6, [20, 20])
    assert records.take(39, most=2) == Due(8, [30])
    assert (records.next_due(), records.take(60, most=9), records.next_due()) == (
        40,
        Due(9, [40]),
        40,
    )
    assert (records.take(60, most=9), records.next_due()) == (Due(10, [40, 50]), NEVER)


def test_made_up_records_have_the_size_and_repeat_by_seed():
    record_of, again = (
        random_records(size=64, keys=10, spread="uniform", seed="7 poet") for _ in range(2)
    )

    assert len(record_of(0)[1]) == 64
    assert [record_of(number) for number in range(50)] == [again(number) for number in range(50)]


RECORDS = RecordsOrder(topics=("lines",), size=9)


@pytest.mark.parametrize(
    ("wish", "alike"),
    [
        ({}, True),
        ({"keys": 99}, False),
        ({"sizes": "uniform"}, False),
        ({"text": "{n}"}, False),
        ({"headers": {"n": "{n}"}}, False),
    ],
)
def test_records_are_made_one_by_one_unless_they_are_all_equal(monkeypatch, wish, alike):
    monkeypatch.setenv("STREAMBED_SEED", "1")
    source = source_of(replace(RECORDS, **wish), POET)
    found = [source.record_of(number) for number in range(5, 105)]

    assert all(record == found[0] for record in found) == alike
    assert source.same == (found[0] if alike else None)


def test_the_only_line_of_a_file_is_what_all_records_are(monkeypatch, tmp_path):
    monkeypatch.setenv("STREAMBED_SEED", "1")
    order = replace(RECORDS, file=str(tmp_path / "a.txt"))

    (tmp_path / "a.txt").write_text("one\n")
    assert source_of(order, POET).same == (None, b"one", [])
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    assert source_of(order, POET).same is None


def test_zipf_keys_favour_the_first_and_uniform_keys_do_not():
    zipf = random_records(size=1, keys=100, spread="zipf", seed="1")
    uniform = random_records(size=1, keys=100, spread="uniform", seed="1")

    assert Counter(zipf(number)[0] for number in range(2000))[b"0"] > 200
    assert Counter(uniform(number)[0] for number in range(2000))[b"0"] < 60


def test_records_go_to_several_topics_in_turn_and_each_producer_begins_at_another():
    first, second = (topics_of(["a", "b", "c"], "turn", seed="1", shift=shift) for shift in (0, 1))

    assert "".join(first(number) for number in range(5)) == "abcab"
    assert "".join(second(number) for number in range(5)) == "bcabc"


def test_records_go_to_random_topics_evenly_and_by_the_seed():
    drawn, again, other = (
        topics_of(list("abcd"), "random", seed=seed, shift=0) for seed in ("1", "1", "2")
    )
    found = [drawn(number) for number in range(8000)]

    assert (
        found
        == [again(number) for number in range(8000)]
        != [other(number) for number in range(8000)]
    )
    assert all(1800 < count < 2200 for count in Counter(found).values())


def test_many_producers_at_one_rate_take_turns():
    schedules = [
        schedule_of(ORDER, replace(POET, number=number, of=4), held=0, start_ns=0)
        for number in range(4)
    ]

    assert [times_of(schedule)[0] for schedule in schedules] == [
        0,
        25_000_000,
        50_000_000,
        75_000_000,
    ]
    assert {len(times_of(schedule)) for schedule in schedules} == {20}


def test_headers_are_filled_in_as_texts_are():
    record_of = add_text_and_headers(
        repeat_contents([b"one"], "none"),
        "",
        lambda sequence: "lines",
        {"number": "{n}", "of": "{topic}"},
    )

    assert record_of(4) == (None, b"one", [("number", b"5"), ("of", b"lines")])


@pytest.mark.parametrize("sizes", ["uniform", "exponential", "normal", "lognormal", "pareto"])
def test_drawn_sizes_have_the_mean_and_repeat_by_seed(sizes):
    record_of, again = (
        random_records(size=1000, sizes=sizes, keys=0, spread="uniform", seed="7") for _ in range(2)
    )
    found = [len(record_of(number)[1]) for number in range(20_000)]

    assert 930 < sum(found) / len(found) < 1070
    assert min(found) >= 1 and max(found) <= 10_000 and len(set(found)) > 100
    assert found[:50] == [len(again(number)[1]) for number in range(50)]


def test_normal_keys_lie_around_the_middle():
    record_of = random_records(size=1, keys=100, spread="normal", seed="1")
    found = [int(record_of(number)[0]) for number in range(2000)]

    assert 48 < sum(found) / len(found) < 51
    assert sum(25 <= key < 75 for key in found) > 1800


def test_a_function_beside_the_declaration_makes_records(tmp_path):
    (tmp_path / "made_here.py").write_text(
        "def three(number, random):\n    return f'k{number}', str(random.randint(0, 9))\n"
    )
    record_of, again = (from_function("made_here:three", str(tmp_path), "7 poet") for _ in range(2))

    assert record_of(3)[0] == b"k3"
    assert [record_of(number) for number in range(9)] == [again(number) for number in range(9)]
    with pytest.raises(SystemExit, match="made_here has no function 'four'"):
        from_function("made_here:four", str(tmp_path), "7 poet")


@pytest.mark.parametrize(
    ("given", "record"),
    [
        ("a", (None, b"a", [])),
        ((b"k", "a"), (b"k", b"a", [])),
        ({"value": b"a", "headers": {"unit": "m"}}, (None, b"a", [("unit", b"m")])),
    ],
)
def test_a_function_gives_a_value_or_a_key_with_it_or_a_mapping(given, record):
    assert as_record(given, "here:there") == record


def test_what_is_no_record_is_refused():
    with pytest.raises(SystemExit, match="here:there gave 7: it must give a value"):
        as_record(7, "here:there")

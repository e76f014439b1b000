"""Verdict cards and the headline."""

from streambed.record.fidelity import Fidelity, Span
from streambed.record.history import Verdict
from streambed.reports import cards
from tests.support.synthetic import history_of, sent
from tests.support.synthetic_events import event

CALM = Fidelity(believable=True, says="links were within 1 ms")
OFF = Fidelity(
    believable=False,
    says="network timing was off for 2 of 9 s",
    spans=(Span(start=0, end=1, says=""),),
)


def card(history=None, fidelity=CALM, **fields) -> cards.Card:
    verdict = Verdict(**{"check": "no_loss", "answer": "fails", "says": "it says"} | fields)
    (made,) = cards.cards([verdict], history or history_of(), fidelity)
    return made


def lost(*sequences: int) -> list[dict]:
    return [
        {"producer": "poet", "sequence": sequence, "where": "lost in the log"}
        for sequence in sequences
    ]


def test_the_headline_has_the_worst_verdicts_in_words():
    verdicts = [
        Verdict(check="a", answer="holds", says="", brief="all is well"),
        Verdict(check="b", answer="fails", says="", brief="80 of 3,600 records lost"),
        Verdict(check="c", answer="fails", says="", brief="p99 11.3 s (limit 50 ms)"),
    ]

    assert cards.headline(verdicts) == "80 of 3,600 records lost · p99 11.3 s (limit 50 ms)"


def test_lost_records_are_ranges_with_the_time_at_which_they_were_due():
    history = history_of(
        event(10, "phase", phase="load"), sent=tuple(sent(n, due=10 + n) for n in range(9))
    )

    (loss,) = card(history, evidence={"lost": lost(2, 3, 4, 7)}).losses

    assert [(span.text, span.from_s, span.to_s) for span in loss.ranges] == [
        ("poet 2–4", 2.0, 4.0),
        ("poet 7", 7.0, 7.0),
    ]


def test_a_card_never_lists_more_than_a_few_ranges():
    (loss,) = card(evidence={"lost": lost(*range(0, 200, 2))}).losses

    assert (len(loss.ranges), loss.more) == (cards.RANGES, 100 - cards.RANGES)


def test_a_card_says_who_saw_how_much():
    evidence = {"acked": 2000, "readers": {"shout": {"seen": 1990, "duplicates": 3}}}

    assert card(evidence=evidence).lines == [
        "shout saw 1,990 of 2,000 acknowledged records, 3 duplicates"
    ]


def test_the_worst_stretch_is_in_seconds_of_the_load():
    history = history_of(event(10, "phase", phase="load"))
    evidence = {"worst": {"start_s": 13.5, "end_s": 18.0, "during": "kill"}}

    assert card(history, evidence=evidence).lines == ["slowest from 3.5 s to 8.0 s, overlaps kill"]


def test_latencies_are_bars_against_their_limits():
    measured = {"p50_ns": 10_000_000, "p99_ns": 400_000_000, "max_ns": None}

    bars = card(evidence=measured | {"limits_ns": {"p99": 200_000_000}}).bars

    assert [(bar.name, bar.value, bar.percent, bar.over) for bar in bars] == [
        ("p50", "10 ms", 2.5, False),
        ("p99", "400 ms", 100.0, True),
        ("max", "never", 100, False),
    ]
    assert (bars[1].limit, bars[1].limit_percent) == ("limit 200 ms", 50.0)


def test_every_percentile_with_a_limit_has_a_bar():
    measured = {"p50_ns": 1, "p90_ns": 2, "p95_ns": 3, "p99_ns": 4, "p999_ns": 5, "max_ns": 6}

    shown = card(evidence=measured | {"limits_ns": {"p95": 9}})

    assert [bar.name for bar in shown.bars] == ["p50", "p95", "p99", "max"]
    assert shown.bars[1].limit_percent == 100
    assert shown.evidence == {}


def test_a_lone_status_is_no_evidence():
    assert card(check="succeeds", evidence={"status": 0}).evidence == {}


def test_doubt_and_its_remedy_are_shown_only_where_a_verdict_depends_on_it():
    late = {"check": "latency", "punctual": True, "evidence": {"in_doubtful_time": 3}}

    assert "rtprio" in card(fidelity=OFF, **late, answer="unknown").doubt
    assert card(fidelity=OFF, **late, answer="fails").doubt == ""
    assert card(fidelity=OFF).doubt == ""


def test_a_log_verdict_shows_each_anomaly_that_was_found_with_its_first_offender():
    quiet = {"count": 0, "promised": True, "because": "", "why": "", "offenders": []}
    rows = [
        {
            "anomaly": "A1",
            "name": "lost_write",
            "answer": "fails",
            "count": 2514,
            "promised": False,
            "because": "acks is 1",
            "offenders": [{"says": "poet=599 is not in the log"}],
        },
        {**quiet, "anomaly": "A2", "name": "unseen", "answer": "holds"},
        {**quiet, "anomaly": "A3", "name": "aborted_read", "answer": "unknown", "why": "no ledger"},
        {**quiet, "anomaly": "A22", "name": "diverged_replicas", "answer": "not judged"},
    ]
    verdict = Verdict(check="log", answer="fails", says="", evidence={"rows": rows})

    (card,) = cards.cards([verdict], history_of(), CALM)

    assert list(card.lines) == [
        "A1 lost write, 2,514, such as: poet=599 is not in the log; not promised: acks is 1",
        "A3 aborted read: unknown, no ledger",
        "not found: A2",
        "not judged: A22",
    ]
    assert "rows" not in card.evidence


def test_a_card_tells_what_happened_to_the_first_lost_records():
    history = history_of(
        event(10, "phase", phase="load"), sent=tuple(sent(n, due=10 + n) for n in range(9))
    )

    told = card(history, evidence={"lost": lost(2, 3, 4, 7)}).journeys

    assert [one.record for one in told] == ["poet=2", "poet=3", "poet=4"]
    assert told[0].lines[0] == "2.000 s: due at poet"

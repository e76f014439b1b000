from collections import Counter

import pytest

from streambed.agents.producer import made_up_records, records_of_file


def test_the_lines_of_a_file_come_over_and_over(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\n")

    record_of = records_of_file(tmp_path / "a.txt", "none")

    assert [record_of(number) for number in range(3)] == [(None, b"one"), (None, b"two"), (None, b"one")]


def test_the_text_before_the_first_tab_is_the_key(tmp_path):
    (tmp_path / "a.txt").write_text("doc/1\ta\tb\nno tab\n")

    record_of = records_of_file(tmp_path / "a.txt", "tab")

    assert [record_of(0), record_of(1)] == [(b"doc/1", b"a\tb"), (None, b"no tab")]


def test_an_empty_file_cannot_be_sent(tmp_path):
    (tmp_path / "a.txt").touch()

    with pytest.raises(SystemExit, match="has no line to send"):
        records_of_file(tmp_path / "a.txt", "none")


def test_made_up_records_have_the_size_and_repeat_by_seed():
    record_of, again = (made_up_records(size=64, keys=10, spread="uniform", seed="7 poet") for _ in range(2))

    assert len(record_of(0)[1]) == 64
    assert [record_of(number) for number in range(50)] == [again(number) for number in range(50)]


def test_zipf_keys_favour_the_first_and_uniform_keys_do_not():
    zipf = made_up_records(size=1, keys=100, spread="zipf", seed="1")
    uniform = made_up_records(size=1, keys=100, spread="uniform", seed="1")

    assert Counter(zipf(number)[0] for number in range(2000))[b"0"] > 200
    assert Counter(uniform(number)[0] for number in range(2000))[b"0"] < 60

"""A report shows no secret, wherever the run holds it."""

import json
from dataclasses import replace
from pathlib import Path

import polars as pl

from streambed import plan as plans
from streambed.declare.yaml.masking import masked_declaration
from streambed.record.events import Note, ProcessEnded
from streambed.reports import comparison, page
from streambed.results import comparison as comparisons
from streambed.results.masking import Mask
from streambed.results.runs import Run
from tests.support import synthetic

SECRET = "hunter-2-hunter"
DECLARATION = f"""\
name: leader  # A comment stays.
components:
  job:
    kind: command
    env: {{DB_PASSWORD: {SECRET}, REGION: eu}}
    argv: [python, job.py, --token, {SECRET}, --rate, '5']
"""


def write_run(directory: Path) -> None:
    """A run that holds its secret in every text of its folder."""
    (directory / "history").mkdir(parents=True)
    job = {"kind": "command", "node": "edge", "argv": ["true"], "env": {"DB_PASSWORD": SECRET}}
    command = f"streambed run leader.yaml --set components.job.env.DB_PASSWORD={SECRET}"
    plan = replace(
        synthetic.plan_of(directory), command=command, declaration={"components": {"job": job}}
    )
    plans.write(plan, directory / "plan.json")
    (directory / "experiment.yaml").write_text(DECLARATION)
    status = {"state": "failed", "reason": f"job: login as bob with {SECRET} refused"}
    (directory / "status.json").write_text(json.dumps(status))
    says = f"job said postgresql://bob:{SECRET}@db"
    verdict = {"check": "succeeds", "answer": "fails", "says": says, "evidence": {"said": [says]}}
    (directory / "verdicts.json").write_text(json.dumps([verdict]))
    lines = [
        {"time": 1, "event": "phase", "phase": "load"},
        {"time": 2, "event": "note", "says": f"no login with {SECRET}"},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (directory / "history" / "events.jsonl").write_text(text)


def test_no_file_of_a_report_holds_a_secret(tmp_path: Path):
    write_run(tmp_path / "run")

    text = page.write(tmp_path / "run").read_text()
    timeline = pl.read_parquet(tmp_path / "run" / "figures" / "timeline.parquet")

    assert "no login with ******" in timeline["says"].to_list()
    assert "login as bob with ****** refused" in text
    assert SECRET not in text
    for path in (tmp_path / "run" / "figures").iterdir():
        assert SECRET.encode() not in path.read_bytes(), path.name


def test_a_comparison_and_its_page_show_no_secret(tmp_path: Path):
    for name in ("one", "two"):
        write_run(tmp_path / "leader" / name)
    a, b = Run(tmp_path / "leader" / "one"), Run(tmp_path / "leader" / "two")

    text = comparison.write(comparisons.compare_runs(a, b)).read_text()

    assert a.reason == "job: login as bob with ****** refused"
    assert a.reason in text and "postgresql://bob:******@db" in text
    assert SECRET not in text


def test_the_last_lines_of_a_process_repeat_no_declared_secret():
    mask = Mask.of({"env": {"API_TOKEN": SECRET}})
    ended = ProcessEnded(
        process="job", component="job", status=1, expected=False, last_lines=(f"with {SECRET}",)
    )

    assert mask.event(ended) == replace(ended, last_lines=("with ******",))
    assert mask.event(Note(says="all is well")) == Note(says="all is well")


def test_a_declaration_keeps_its_layout_and_loses_its_secrets():
    assert masked_declaration(DECLARATION) == DECLARATION.replace(SECRET, '"******"')


def test_a_secret_behind_an_alias_is_masked_where_it_stands():
    text = (
        "word: &w s3cret\nenv: {TOKEN: *w}\nfree: |\n  text\npassword: |\n  one\n  two\nlast: 1\n"
    )

    assert masked_declaration(text) == (
        'word: &w "******"\nenv: {TOKEN: *w}\nfree: |\n  text\npassword: "******"\nlast: 1\n'
    )


def test_all_values_below_a_secret_key_and_passwords_in_addresses_are_masked():
    text = "credentials: {bob: one, eve: [two]}\nurl: jdbc:x://bob:pa55@db:5432/t\n"

    assert masked_declaration(text) == (
        'credentials: {bob: "******", eve: ["******"]}\nurl: jdbc:x://bob:******@db:5432/t\n'
    )


def test_what_is_no_yaml_is_masked_as_text():
    assert masked_declaration("a: [\ntoken=abc") == "a: [\ntoken=******"

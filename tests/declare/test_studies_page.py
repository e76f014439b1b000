"""docs/studies.md knows every key of a study, and its default."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from streambed.declare.study import Plot, Study
from streambed.declare.yaml.study_file import read
from streambed.kinds.measures import Measure
from tests.support.declare.defaults import default_text
from tests.support.declare.samples import GOOD

PAGE = Path(__file__).parents[2] / "docs" / "studies.md"


@pytest.mark.parametrize("declared", [Study, Measure, Plot], ids=lambda declared: declared.__name__)
def test_the_page_lists_each_key_with_its_default_in_the_order_of_the_class(declared: type) -> None:
    text = re.split(
        r"^#+ ",
        PAGE.read_text().split(f"# {declared.__name__}\n", 1)[1],
        maxsplit=1,
        flags=re.MULTILINE,
    )[0]
    fields = declared.__pydantic_fields__  # type: ignore[attr-defined]

    expected = [
        (key, default_text(key, field.default, field.default_factory))
        for key, field in fields.items()
    ]

    assert re.findall(r"^\| `(\w+)` \| (.*?) \| .+ \|$", text, re.MULTILINE) == expected


def test_the_example_of_the_page_is_right(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(PAGE.read_text().split("```yaml\n")[1].split("```")[0])
    (tmp_path / "job.py").write_text("")
    (tmp_path / "experiment.yaml").write_text(
        GOOD.replace("at: 20s, lasts: 5s", "at: 10s, lasts: 5s")
    )

    plan = read(tmp_path / "study.yaml")

    assert (plan.study.name, len(plan.points), len(plan.trials)) == ("delay-sweep", 3, 9)

"""References in texts, such as {kafka.bootstrap} and {self.checkpoint}, and what they become.

{{kafka.bootstrap}} yields the text {kafka.bootstrap} itself; all other braces are left alone.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from streambed.errors import Problem, UsageError, suggestion

if TYPE_CHECKING:
    from streambed.declare.experiment import Experiment
    from streambed.kinds.components.component import Component

Answers = dict[str, str]
"""What can be referred to, such as kafka.bootstrap, and the text that it becomes."""
Resolve = Callable[[str, str], str]

_WORD = r"\{([A-Za-z][A-Za-z0-9_.-]*\.[A-Za-z_]+)\}"
_REFERENCE = re.compile(rf"\{{{_WORD}\}}|{_WORD}")


def answers(
    experiment: Experiment, *, addresses: Mapping[str, str], directory: Path, java: str
) -> Answers:
    """What every component may refer to."""
    known = {
        "run.directory": str(directory),
        "run.seed": str(experiment.seed),
        "run.python": sys.executable,
        "run.java": java,
    }
    for node, address in addresses.items():
        known |= {f"{node}.address": address, f"{node}.name": node}
    for name, component in experiment.components.items():
        own = component.answers(directory / "data" / name)
        known |= {f"{name}.{key}": text for key, text in own.items()}
    return known


def own_answers(component: Component, common: Answers, directory: Path) -> Answers:
    """What a component may refer to by {self.…}."""
    data = directory / "data" / component.name
    node = next(iter(component.places.values()), "")
    own = {
        "name": component.name,
        "node": node,
        "data": str(data),
        **component.own_answers(data, common),
    }
    return {f"self.{key}": text for key, text in own.items()}


def resolver(
    experiment: Experiment, *, addresses: Mapping[str, str], directory: Path, java: str
) -> Resolve:
    """The function that replaces references in a text of a component."""
    common = answers(experiment, addresses=addresses, directory=directory, java=java)
    own = {
        name: own_answers(component, common, directory)
        for name, component in experiment.components.items()
    }

    def resolve(text: str, component: str) -> str:
        known = common | own[component]

        def replacement(match: re.Match[str]) -> str:
            escaped, word = match[1], match[2]
            if escaped:
                return f"{{{escaped}}}"
            if word not in known:
                raise UsageError(_unknown(word, known))
            return known[word]

        return _REFERENCE.sub(replacement, text)

    return resolve


def reference_problems(experiment: Experiment) -> list[Problem]:
    """A problem for each reference to something that is not there."""
    directory = Path("run")  # Only names matter here, not what they become.
    addresses = dict.fromkeys(experiment.topology.nodes(), "")
    common = answers(experiment, addresses=addresses, directory=directory, java="java")
    wrong = []
    for name, component in experiment.components.items():
        known = common | own_answers(component, common, directory)
        for key, text in component.texts.items():
            words = [word for _, word in _REFERENCE.findall(text) if word and word not in known]
            for word in words:
                about = frozenset({_owner(word)})
                says = _unknown(word, known)
                wrong.append(Problem(key=f"components.{name}.{key}", says=says, about=about))
    return wrong


def _owner(word: str) -> str:
    """The component or node that a reference is about."""
    return word.rpartition(".")[0]


def _unknown(word: str, known: Answers) -> str:
    siblings = [name for name in known if _owner(name) == _owner(word)]
    return f"nothing answers to {{{word}}}. {suggestion(word, siblings or known)}"

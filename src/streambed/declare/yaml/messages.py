"""What is wrong with a key, in plain English: what was found, what is allowed, and what may have
been meant.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_core import ErrorDetails

from streambed.declare.experiment import Experiment
from streambed.declare.link import LINK_PATTERN, NODE_PATTERN
from streambed.declare.yaml.keys import (
    TABLES,
    Path,
    dotted_key,
    is_declared,
    keys_of,
    noun_of,
    path_of,
    table_at,
    type_at,
)
from streambed.errors import MISSING_KEY, UNKNOWN_KEY, UNKNOWN_KIND, Problem, nearest, suggestion
from streambed.kinds.declaring import NAME_PATTERN, WORD_PATTERN

NAME_RULE = (
    "begin with a letter, continue with letters, digits, '-', '_' or '.', 63 characters at most"
)
NODE_RULE = "begin with a letter, continue with letters, digits or '-', 63 characters at most"
WORD_RULE = "begin with a letter, continue with letters, digits or '_', 48 characters at most"
_RULES = {
    NAME_PATTERN: NAME_RULE,
    NODE_PATTERN: NODE_RULE,
    LINK_PATTERN: NODE_RULE,
    WORD_PATTERN: WORD_RULE,
}


@dataclass(frozen=True, kw_only=True)
class Complaint:
    """A place in a file and what is wrong there; `at_key`: the key is wrong, not its value."""

    path: Path
    says: str
    at_key: bool = False
    code: str = ""
    """The code of its problem."""
    suggests: str = ""
    """The key that an unknown one is probably meant to be."""

    @property
    def problem(self) -> Problem:
        """The same as a problem that has no line yet."""
        return Problem(key=dotted_key(self.path), says=self.says, code=self.code)


def complaints(errors: list[ErrorDetails], content: Any, root: Any = Experiment) -> list[Complaint]:
    """One for each place of a file that declares a `root`. A key that is missing because it is
    misspelt is reported once.
    """
    by_path: dict[Path, Complaint] = {}
    for error in errors:
        complaint = _complaint(error, content, root)
        by_path.setdefault(complaint.path, complaint)
    misspelt = {
        (*complaint.path[:-1], complaint.suggests)
        for complaint in by_path.values()
        if complaint.suggests
    }
    remaining = []
    for path, complaint in by_path.items():
        if complaint.code == MISSING_KEY and path in misspelt:
            continue
        remaining.append(complaint)
    return remaining


def _complaint(error: ErrorDetails, content: Any, root: Any) -> Complaint:
    path, kind = path_of(error["loc"]), error["type"]
    if kind == "unexpected_keyword_argument":
        return _unknown(path, content, root)
    if kind in ("union_tag_not_found", "union_tag_invalid"):
        return _kind(path, error)
    if kind == "missing":
        return Complaint(
            path=path, says=_missing(path, content, root), at_key=True, code=MISSING_KEY
        )
    if error["loc"][-1] == "[key]":
        return Complaint(path=path, says=_SAYS.get(kind, _other)(error), at_key=True)
    written = _written_part(path, content)
    # A value that may have several plain types gives an error for each, with the type's name at
    # the end of the path.
    if len(written) < len(path):
        advice = "write text, a number, true or false"
        says = f"{_value_text(error['input'])} is not a setting: {advice}"
        return Complaint(path=written, says=says)
    return Complaint(path=path, says=_SAYS.get(kind, _other)(error))


def _written_part(path: Path, content: Any) -> Path:
    """The longest part of a path that the content has."""
    for at, key in enumerate(path):
        if key not in _keys_in(content):
            return path[:at]
        content = content[key]
    return path


def _keys_in(content: Any) -> Collection[Any]:
    """The keys of a mapping or the indices of a list; none for plain values."""
    if isinstance(content, Mapping):
        return content.keys()
    if isinstance(content, list):
        return range(len(content))
    return ()


def _unknown(path: Path, content: Any, root: Any) -> Complaint:
    owner = type_at(path[:-1], content, root)
    known = keys_of(owner) if is_declared(owner) else []
    key = str(path[-1])
    if key == "name" and len(path) == 3 and path[0] == "components":
        says = "unknown key 'name': a component's name is its key"
        return Complaint(path=path, says=says, at_key=True, code=UNKNOWN_KEY)
    says = f"unknown key '{key}'. {suggestion(key, known)}"
    return Complaint(
        path=path, says=says, at_key=True, code=UNKNOWN_KEY, suggests=nearest(key, known)
    )


def _kind(path: Path, error: ErrorDetails) -> Complaint:
    known = table_at(path) or {}
    owner = str(path[0]) if path[0] in TABLES else "generators"
    if error["type"] == "union_tag_not_found":
        says = f"is missing: each of the {owner} needs a 'kind'. Known: {', '.join(known)}."
        return Complaint(path=(*path, "kind"), says=says, code=MISSING_KEY)
    tag = str(error["ctx"]["tag"])
    says = f"there is no kind '{tag}' of {owner}. {suggestion(tag, known)}"
    return Complaint(path=(*path, "kind"), says=says, code=UNKNOWN_KIND)


def _missing(path: Path, content: Any, root: Any) -> str:
    if isinstance(path[-1], int):
        return f"is missing: {dotted_key(path[:-1])} needs {path[-1] + 1} entries"
    return f"is missing: {noun_of(type_at(path[:-1], content, root))} needs '{path[-1]}'"


def _value_text(value: Any) -> str:
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, (list, tuple)):
        return "a list"
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value)


def _name(error: ErrorDetails) -> str:
    pattern = str(error["ctx"]["pattern"])
    rule = _RULES.get(pattern, f"write what fits {pattern}")
    return f"{_value_text(error['input'])} cannot be a name: {rule}"


def _not(noun: str, advice: str) -> Callable[[ErrorDetails], str]:
    return lambda error: f"{_value_text(error['input'])} is not {noun}: {advice}"


def _text(error: ErrorDetails) -> str:
    value = error["input"]
    advice = "write one word or put it in quotes"
    if isinstance(value, (int, float)):
        advice = f"put it in quotes, '{_value_text(value)}'"
    return f"{_value_text(value)} is not text: {advice}"


def _other(error: ErrorDetails) -> str:
    message = error["msg"]
    return f"{_value_text(error['input'])} is not allowed: {message[0].lower()}{message[1:]}"


_LIST = _not("a list", "write entries in brackets, such as [first, second]")
_MAPPING = _not("a mapping", "write keys and values, such as {key: value}; {} if there are none")
_WHOLE = _not("a whole number", "write digits only")
_BOOLEAN = _not("a yes or no", "write true or false")
_NUMBER = _not("a number", "write digits, with a point if need be")
_SAYS: dict[str, Callable[[ErrorDetails], str]] = {
    "quantity": lambda error: str(error["ctx"]["says"]),
    "value_error": lambda error: str(error["ctx"]["error"]),
    "literal_error": lambda error: (
        f"{_value_text(error['input'])} is not allowed: write one of {error['ctx']['expected']}"
    ),
    "string_pattern_mismatch": _name,
    "string_type": _text,
    "greater_than_equal": lambda error: (
        f"{_value_text(error['input'])} is too small: at least {error['ctx']['ge']}"
    ),
    "less_than_equal": lambda error: (
        f"{_value_text(error['input'])} is too large: at most {error['ctx']['le']}"
    ),
    "too_short": lambda error: (
        f"has {error['ctx']['actual_length']} entries: give at least {error['ctx']['min_length']}"
    ),
    "too_long": lambda error: (
        f"has {error['ctx']['actual_length']} entries: give at most {error['ctx']['max_length']}"
    ),
    "tuple_type": _LIST,
    "list_type": _LIST,
    "dict_type": _MAPPING,
    "dataclass_type": _MAPPING,
    "model_attributes_type": _MAPPING,
    "int_type": _WHOLE,
    "int_parsing": _WHOLE,
    "int_from_float": _WHOLE,
    "bool_type": _BOOLEAN,
    "bool_parsing": _BOOLEAN,
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
}

"""Names that suggest a secret: what they hold is not passed on or shown unless it is asked for."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

MASK = "******"
_SECRET = re.compile(
    r"passw(or)?d|passphrase|secret|token(?!s?[._-]?(url|endpoint|file|path))|credential"
    r"|private[._-]?key|api[._-]?key|access[._-]?key|account[._-]?key|jaas[._-]?config"
    r"|sas[._-]?url|authorization|requirepass|masterauth"
    r"|(?<!streambed)[._-]pass$|^pass$|[._-]pwd$",
    re.IGNORECASE,
)
_DOTTED = re.compile(
    r"((private|api|access|account)[._-]?key|jaas[._-]?config|sas[._-]?url)$", re.IGNORECASE
)
_IN_ADDRESS = re.compile(
    r"(?P<before>\b[a-z][a-z0-9+.-]*://[^\s:/@]*:)[^\s/@]+(?=@)", re.IGNORECASE
)
_IN_WORD = re.compile(r"(?P<name>[\w.-]+)(?P<sign>=)(?P<value>[^\s&;]+)")


def is_secret(name: str) -> bool:
    """Whether a setting or variable of this name is likely to hold a secret."""
    return bool(_SECRET.search(name))


def masked_text(text: str) -> str:
    """A text without the passwords of addresses and the values of settings such as token=…"""
    text = _IN_ADDRESS.sub(rf"\g<before>{MASK}", text)

    def hide(setting: re.Match[str]) -> str:
        return f"{setting['name']}={MASK}" if is_secret(setting["name"]) else setting[0]

    return _IN_WORD.sub(hide, text)


def is_secret_option(word: str) -> bool:
    """Whether the next word of a command line is a secret: --password, but not --password=…"""
    return word.startswith("-") and "=" not in word and is_secret(word)


def masked_words(words: Iterable[str]) -> Iterator[str]:
    """The words of a command line; the word after an option such as --password is masked too."""
    hide_next = False
    for word in words:
        name, sign, value = word.partition("=")
        if hide_next:
            yield MASK
        elif sign and " " not in name:
            yield f"{name}={masked_value(name, value)}"
        else:
            yield masked_text(word)
        hide_next = is_secret_option(word)


def masked_command(command: str) -> str:
    """A command as a shell takes it."""
    try:
        words = shlex.split(command)
    except ValueError:
        return masked_text(command)
    return " ".join(shlex.quote(word).replace(f"'{MASK}'", MASK) for word in masked_words(words))


def holds_secret(key: str) -> bool:
    """Whether a dotted key holds a secret: its last part looks like one. A component may have any
    name.
    """
    return is_secret(key.rpartition(".")[2]) or bool(_DOTTED.search(key))


def masked_value(key: str, text: str) -> str:
    """The value of a dotted key, if it may be shown."""
    return MASK if text and holds_secret(key) else masked_text(text)


def secret_values(content: Any, *, secret: bool = False) -> Iterator[str]:
    """Every word that a declaration holds as a secret."""
    if isinstance(content, Mapping):
        for key, value in content.items():
            yield from secret_values(value, secret=secret or holds_secret(str(key)))
    elif isinstance(content, list | tuple):
        after_option = False
        for item in content:
            yield from secret_values(item, secret=secret or after_option)
            after_option = isinstance(item, str) and is_secret_option(item)
    elif secret and isinstance(content, str) and content:
        yield content

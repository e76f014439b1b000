"""The scripts of a page, and the policy by which a browser runs these and no others."""

from __future__ import annotations

import base64
import functools
import hashlib
from dataclasses import dataclass
from pathlib import Path

from streambed.reports.bundle import bundle

FOLDER = Path(__file__).parent


@dataclass(frozen=True, kw_only=True)
class PageScripts:
    """The text of each script, as it stands between its tags."""

    errors: str
    vega: str
    drawing: str

    @property
    def policy(self) -> str:
        """The Content-Security-Policy. Charts set styles on their elements, but evaluate no code:
        Vega interprets its expressions.
        """
        hashes = " ".join(map(_hash_of, (self.errors, self.vega, self.drawing)))
        return (
            f"default-src 'none'; style-src 'unsafe-inline'; script-src {hashes}; "
            "img-src data: blob:; base-uri 'none'; form-action 'none'"
        )


@functools.cache
def page_scripts() -> PageScripts:
    """The scripts of reports, studies and comparisons."""
    return PageScripts(
        errors=(FOLDER / "errors.js").read_text(),
        vega=bundle(),
        drawing=(FOLDER / "report.js").read_text(),
    )


def _hash_of(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"

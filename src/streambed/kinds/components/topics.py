"""Topics of a declaration: one name or a list of them."""

from __future__ import annotations

from streambed.kinds.declaring import Names

Topics = Names

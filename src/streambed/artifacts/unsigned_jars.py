"""Copies of Spark's signed jars without signatures: Java keeps no class of a signed jar in an
archive, and checks each that it loads.
"""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

from streambed.artifacts.locked_jars import cache
from streambed.record import write_whole

SIGNATURE = re.compile(r"META-INF/[^/]+\.(SF|DSA|RSA|EC)", re.IGNORECASE)
MANIFEST = "META-INF/MANIFEST.MF"


def unsigned(jar: Path) -> Path:
    """The copy of a jar without its signature, or the jar itself if there is none."""
    copy = _copy_path(jar)
    return copy if copy.exists() else jar


def make_unsigned(pyspark_home: Path) -> None:
    """Copy the signed jars inside pyspark, unless that was done before."""
    for jar in sorted((pyspark_home / "jars").glob("*.jar")):
        if not _copy_path(jar).exists():
            with zipfile.ZipFile(jar) as packed:
                if any(SIGNATURE.fullmatch(name) for name in packed.namelist()):
                    _copy(packed, _copy_path(jar))


def _copy_path(jar: Path) -> Path:
    """Ends as the path of a jar inside pyspark does, because it is one."""
    found = jar.stat()
    return (
        cache()
        / "unsigned"
        / f"{jar.stem}-{found.st_size}-{int(found.st_mtime)}"
        / "pyspark"
        / "jars"
        / jar.name
    )


def _copy(packed: zipfile.ZipFile, path: Path) -> None:
    """Without signatures, and without what its manifest says of single files; seen under its name
    only when it is whole.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as copy:
        for entry in packed.infolist():
            content = packed.read(entry)
            if entry.filename == MANIFEST:
                content = re.split(rb"\r?\n\r?\n", content, maxsplit=1)[0] + b"\r\n\r\n"
            if not SIGNATURE.fullmatch(entry.filename):
                copy.writestr(entry, content)
    write_whole(path, made.getvalue())

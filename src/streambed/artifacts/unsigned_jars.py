"""Copies of Spark's signed jars without signatures.

Java puts no class of a signed jar into a class archive, and verifies each when it is loaded.
"""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

from streambed.artifacts.locked_jars import cache, make_cache
from streambed.artifacts.manifests import is_whole, record
from streambed.record import write_whole

SIGNATURE = re.compile(r"META-INF/[^/]+\.(SF|DSA|RSA|EC)", re.IGNORECASE)
MANIFEST = "META-INF/MANIFEST.MF"


def unsigned_copy(jar: Path) -> Path:
    """The copy of a jar without its signature, or the jar itself if there is no copy."""
    copy = _copy_path(jar)
    return copy if copy.exists() else jar


def unsigned_copies(pyspark_home: Path) -> list[Path]:
    """The copies that exist, in the order of pyspark's jars."""
    copies = [_copy_path(jar) for jar in sorted((pyspark_home / "jars").glob("*.jar"))]
    return [copy for copy in copies if copy.exists()]


def make_unsigned(pyspark_home: Path) -> None:
    """Copy the signed jars inside pyspark, unless that was done before."""
    for jar in sorted((pyspark_home / "jars").glob("*.jar")):
        if not is_whole(_copy_path(jar)):
            with zipfile.ZipFile(jar) as packed:
                if any(SIGNATURE.fullmatch(name) for name in packed.namelist()):
                    _copy(packed, _copy_path(jar))


def _copy_path(jar: Path) -> Path:
    """The path ends with pyspark/jars/NAME, as that of the original does."""
    stat = jar.stat()
    version = f"{jar.stem}-{stat.st_size}-{int(stat.st_mtime)}"
    return cache() / "unsigned" / version / "pyspark" / "jars" / jar.name


def _copy(packed: zipfile.ZipFile, path: Path) -> None:
    """Copy without signatures and without the manifest's digests of single files."""
    make_cache(*path.parent.relative_to(cache()).parts)
    content_of_copy = io.BytesIO()
    with zipfile.ZipFile(content_of_copy, "w", zipfile.ZIP_DEFLATED) as copy:
        for entry in packed.infolist():
            content = packed.read(entry)
            if entry.filename == MANIFEST:
                content = re.split(rb"\r?\n\r?\n", content, maxsplit=1)[0] + b"\r\n\r\n"
            if not SIGNATURE.fullmatch(entry.filename):
                copy.writestr(entry, content)
    write_whole(path, content_of_copy.getvalue())
    record(path)

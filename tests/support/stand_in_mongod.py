"""Stands in for MongoDB's server, which no registry has: mongo-java-server, which speaks its
protocol and keeps a file.

    python stand_in_mongod.py fetch                      get its jars, which only tests need
    python stand_in_mongod.py JAVA CLASS_PATH OPTION...  serve, with the options of mongod

Its network library is that of pyspark, and so is py4j, which sets what its command line cannot.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from streambed import artifacts
from streambed.artifacts.locked_jars import Jar, fetch_jars, jars_of
from streambed.errors import MissingError

LIGHT = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m"]
WIRE_VERSION = 9
"""That of MongoDB 4.4. It says less of itself, and pymongo would not talk to it."""
KEPT_MS = 10
"""How long after a write it is in the file; a kill loses no more."""


def locked() -> tuple[Jar, ...]:
    return jars_of(Path(__file__).with_suffix(".json").read_text())


def class_path() -> str:
    if any(not jar.is_right() for jar in locked()):
        raise MissingError(
            f"the stand-in for mongod was not fetched. Run: python {Path(__file__).name} fetch"
        )
    theirs = artifacts.find_pyspark() / "jars"
    borrowed = [
        path
        for name in ("netty-*.Final.jar", "slf4j-api-*.jar", "py4j-*.jar")
        for path in sorted(theirs.glob(name))
    ]
    return ":".join(map(str, [*(jar.path for jar in locked()), *borrowed]))


def install(folder: Path) -> Path:
    """A folder for PATH that has it under the name of mongod."""
    words = [sys.executable, Path(__file__).absolute(), artifacts.find_java().path, class_path()]
    version = '[ "$1" = --version ] && echo db version v4.4.0 && exit'
    serve = f'exec {" ".join(map(str, words))} "$@"'
    (folder / "mongod").write_text(f"#!/bin/sh\n{version}\n{serve}\n")
    (folder / "mongod").chmod(0o755)
    return folder


def serve(java: str, classes: str, words: list[str]) -> None:
    options = dict(word.removeprefix("--").partition("=")[::2] for word in words)
    assert (
        {"bind_ip_all", "port", "dbpath"}
        <= set(options)
        <= {"bind_ip_all", "port", "dbpath", "quiet"}
    ), options
    port = launch_gateway(classpath=classes, javaopts=LIGHT, java_path=java, die_on_exit=True)
    there = JavaGateway(gateway_parameters=GatewayParameters(port=port)).jvm
    kept = there.org.h2.mvstore.MVStore.open(f"{options['dbpath']}/stand-in.mv")
    kept.setAutoCommitDelay(KEPT_MS)
    mongo = there.de.bwaldvogel.mongo
    version = mongo.ServerVersion.MONGO_5_0
    spoken = version.getClass().getDeclaredField("wireVersion")
    spoken.setAccessible(True)
    spoken.setInt(version, WIRE_VERSION)
    mongo.MongoServer(mongo.backend.h2.H2Backend(kept).version(version)).bind(
        "0.0.0.0", int(options["port"])
    )
    signal.pause()


if __name__ == "__main__":
    if sys.argv[1:] == ["fetch"]:
        fetch_jars(locked(), lambda *report: None)
    else:
        serve(sys.argv[1], sys.argv[2], sys.argv[3:])

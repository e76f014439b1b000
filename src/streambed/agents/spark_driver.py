"""Spark driver agent: starts Spark's JVM, waits for the servers, then runs the user's script.

It needs only the standard library and pyspark, because it may run in the user's interpreter. It
starts the JVM itself rather than through spark-submit: no second JVM, no shell, and it can use a
class archive.
"""

import contextlib
import glob
import json
import os
import re
import runpy
import signal
import struct
import subprocess
import sys
import time
import traceback
import urllib.request
from types import TracebackType
from typing import Any

import py4j
import pyspark

HOME = os.path.dirname(os.path.realpath(pyspark.__file__))
POLL_S = 0.005
START_S_MAX = 120
FOLDER_S_MAX = 30
NOT_THE_USERS = (
    os.path.realpath(__file__),
    HOME + os.sep,
    os.path.dirname(os.path.realpath(py4j.__file__)) + os.sep,
    runpy.__file__,
    "<frozen runpy>",
)
"""Files and folders whose frames are not part of the job."""
UNKNOWN_TOPIC = "org.apache.kafka.common.errors.UnknownTopicOrPartitionException"


def wait_for(path: str, child: "subprocess.Popen[bytes]", limit_s: float) -> None:
    """Wait for a file to appear; exit if the JVM ends or the time is up."""
    end = time.monotonic() + limit_s
    while not os.path.exists(path):
        if child.poll() is not None:
            sys.exit(f"Spark's Java ended with status {child.returncode} before it was ready")
        if time.monotonic() > end:
            sys.exit(f"waited {limit_s:.0f} s for {path}")
        time.sleep(POLL_S)


def own_class_path(command: list[str]) -> list[str]:
    """With another pyspark, use its jars instead of ours, without our class archive."""
    at = command.index("-cp") + 1
    class_path = command[at].split(":")
    folder = os.path.join(HOME, "jars")
    ours = [jar for jar in class_path if f"{os.sep}pyspark{os.sep}jars{os.sep}" in jar]
    # Not all of our jars are in that folder: of a signed jar we use a copy.
    if any(os.path.dirname(jar) == folder for jar in ours):
        return command
    others = [jar for jar in class_path if jar not in ours]
    theirs = sorted(glob.glob(os.path.join(folder, "*.jar")))
    words = [*command[:at], ":".join([*theirs, *others]), *command[at + 1 :]]
    return [word for word in words if not word.startswith("-XX:SharedArchiveFile")]


def start_java(command: list[str], settings: dict[str, str], secrets: str) -> None:
    """Start the gateway that PySpark talks to, and tell PySpark where it is.

    `secrets` is a file of settings: every user of the machine can read command lines.
    """
    gates = os.path.join(os.environ["STREAMBED_RUN"], "gates")
    connection = os.path.join(gates, f"spark-{os.environ['STREAMBED_PROCESS']}-{os.getpid()}")
    for key, value in settings.items():
        command += ["--conf", f"{key}={value}"]
    if secrets:
        command += ["--properties-file", secrets, "--load-spark-defaults"]
    if "://" not in settings["spark.eventLog.dir"]:
        os.makedirs(settings["spark.eventLog.dir"], exist_ok=True)
    environment = {**os.environ, "_PYSPARK_DRIVER_CONN_INFO_PATH": connection, "SPARK_HOME": HOME}
    java = subprocess.Popen([*command, "pyspark-shell"], stdin=subprocess.PIPE, env=environment)
    wait_for(connection, java, START_S_MAX)
    port, secret = read_connection(connection)
    os.environ.update(
        PYSPARK_GATEWAY_PORT=str(port),
        PYSPARK_GATEWAY_SECRET=secret,
        PYSPARK_PYTHON=sys.executable,
        SPARK_HOME=HOME,
    )
    wait_for(os.path.join(gates, "servers"), java, 10**9)


def read_connection(path: str) -> tuple[int, str]:
    """The port and the secret of a gateway, from the file that it writes."""
    with open(path, "rb") as file:
        port, length = struct.unpack(">ii", file.read(8))
        return port, file.read(length).decode()


def make_folder(url: str) -> None:
    """Create a folder by its WebHDFS address: Spark's event log needs an existing folder."""
    request = urllib.request.Request(f"{url}?op=MKDIRS&user.name=streambed", method="PUT")
    with urllib.request.urlopen(request, timeout=FOLDER_S_MAX):
        pass


def advice_on(error: str, job: str) -> str:
    """Advice about a missing module, here or on an executor's host; empty for other errors."""
    missing = re.search(r"No module named '([^']+)'", error)
    if not missing:
        return ""
    return (
        f"the job {job} needs the Python module '{missing[1]}', which {sys.executable} does not "
        "find: install it there, "
        "name another interpreter with `python`, or the module's folder with `python_path`"
    )


def last_cause(error: BaseException) -> tuple[str, str]:
    """The class and the message of the last cause of a Java exception; empty if it is none."""
    java: Any = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
    if java is None:
        return "", ""
    with contextlib.suppress(Exception):  # The JVM may have ended.
        while java.getCause() is not None:
            java = java.getCause()
        return java.getClass().getName(), str(java.getMessage() or "")
    return "", ""


def failed_query(error: BaseException) -> Any:
    """The streaming query that the job waited for when the error came; None if for none."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        query = getattr(frame.f_locals.get("self"), "_jsq", None)
        if query is not None:
            return query
    return None


def subscribed_topics(error: BaseException) -> list[str]:
    """The topics that the failed query subscribes to; none if Spark does not tell."""
    topics: list[str] = []
    query = failed_query(error)
    with contextlib.suppress(Exception):  # Another Spark may keep its plans elsewhere.
        sources = query.streamingQuery().analyzedPlan().collectLeaves()
        for index in range(sources.size()):
            subscribed = sources.apply(index).extraOptions().get("subscribe") or ""
            topics += [topic.strip() for topic in subscribed.split(",") if topic.strip()]
    return topics


def write_failure(error: BaseException) -> None:
    """Tell the conductor why the job failed, if an exception of Java was the cause."""
    exception, message = last_cause(error)
    if not exception:
        return
    topics = subscribed_topics(error) if exception == UNKNOWN_TOPIC else []
    report = {"exception": exception, "message": message, "unknown_topics": topics}
    folder = os.path.join(os.environ["STREAMBED_RUN"], "failures")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, f"{os.environ['STREAMBED_PROCESS']}.json"), "w") as file:
        json.dump(report, file)


def failure_text(error: BaseException) -> str:
    """A traceback of the user's own frames. Of a Java exception only the message and the last
    cause are shown: its stack traces and query plans are above in the log.
    """
    shown = traceback.TracebackException.from_exception(error)
    own = [frame for frame in shown.stack if not frame.filename.startswith(NOT_THE_USERS)]
    exception, message = last_cause(error)
    lines = traceback.StackSummary.from_list(own).format()
    if exception:
        first_line = (str(error).strip() or "failed").splitlines()[0]
        lines.append(f"{type(error).__name__}: {first_line}\n")
        lines.append(f"Caused by: {exception}: {message}\n")
    else:
        lines += shown.format_exception_only()
    return "".join(["Traceback (most recent call last):\n", *lines])


def show_failure(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print an uncaught error, with the user's own frames."""
    sys.stderr.write(failure_text(error))


def main() -> None:
    """Run the job as `python job.py args…` would."""
    with open(sys.argv[1]) as file:
        order = json.load(file)
    with open(order["job"], "rb") as script:
        # A syntax error shows now, not after the start of the JVM.
        compile(script.read(), order["job"], "exec")
    start_java(own_class_path(order["java"]), order["settings"], order["secrets"])
    for url in order["folders"]:
        make_folder(url)
    sys.argv = [order["job"], *order["args"]]
    sys.path.insert(0, os.path.dirname(order["job"]))
    try:
        runpy.run_path(order["job"], run_name="__main__")
    except Exception as error:
        if last_cause(error)[0]:
            traceback.print_exc()  # All of it, for the log.
        write_failure(error)
        advice = advice_on(str(error), order["job"])
        if not advice:
            raise
        show_failure(type(error), error, error.__traceback__)
        sys.exit(advice)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.excepthook = show_failure
    main()

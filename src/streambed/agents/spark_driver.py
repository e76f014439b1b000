"""Spark driver agent: starts Spark's JVM, waits for the servers, then runs the user's script.

It needs only the standard library and pyspark, because it may run in the user's interpreter. It
starts the JVM itself rather than through spark-submit: no second JVM, no shell, and it can use a
class archive.
"""

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

import pyspark

HOME = os.path.dirname(os.path.realpath(pyspark.__file__))
POLL_S = 0.005
START_S_MAX = 120
FOLDER_S_MAX = 30


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
    ours = [jar for jar in command[at].split(":") if f"{os.sep}pyspark{os.sep}jars{os.sep}" in jar]
    # Not all of our jars lie there: of a signed jar we use a copy.
    if any(os.path.dirname(jar) == os.path.join(HOME, "jars") for jar in ours):
        return command
    others = [jar for jar in command[at].split(":") if jar not in ours]
    jars = ":".join([*sorted(glob.glob(os.path.join(HOME, "jars", "*.jar"))), *others])
    words = [*command[:at], jars, *command[at + 1 :]]
    return [word for word in words if not word.startswith("-XX:SharedArchiveFile")]


def start_java(command: list[str], settings: dict[str, str]) -> None:
    """Start the gateway that PySpark talks to, and tell PySpark where it is."""
    gates = os.path.join(os.environ["STREAMBED_RUN"], "gates")
    connection = os.path.join(gates, f"spark-{os.environ['STREAMBED_PROCESS']}-{os.getpid()}")
    for key, value in settings.items():
        command += ["--conf", f"{key}={value}"]
    if "://" not in settings["spark.eventLog.dir"]:
        os.makedirs(settings["spark.eventLog.dir"], exist_ok=True)
    environment = {**os.environ, "_PYSPARK_DRIVER_CONN_INFO_PATH": connection, "SPARK_HOME": HOME}
    java = subprocess.Popen([*command, "pyspark-shell"], stdin=subprocess.PIPE, env=environment)
    wait_for(connection, java, START_S_MAX)
    with open(connection, "rb") as file:
        port, length = struct.unpack(">ii", file.read(8))
        secret = file.read(length).decode()
    os.environ.update(
        PYSPARK_GATEWAY_PORT=str(port),
        PYSPARK_GATEWAY_SECRET=secret,
        PYSPARK_PYTHON=sys.executable,
        SPARK_HOME=HOME,
    )
    wait_for(os.path.join(gates, "servers"), java, 10**9)


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


def main() -> None:
    """Run the job as `python job.py args…` would."""
    with open(sys.argv[1]) as file:
        order = json.load(file)
    with open(order["job"], "rb") as script:
        # A syntax error shows now, not after the start of the JVM.
        compile(script.read(), order["job"], "exec")
    start_java(own_class_path(order["java"]), order["settings"])
    for url in order["folders"]:
        make_folder(url)
    sys.argv = [order["job"], *order["args"]]
    sys.path.insert(0, os.path.dirname(order["job"]))
    try:
        runpy.run_path(order["job"], run_name="__main__")
    except Exception as error:
        if not (advice := advice_on(str(error), order["job"])):
            raise
        traceback.print_exc()
        sys.exit(advice)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    main()

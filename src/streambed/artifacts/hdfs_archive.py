"""Make what HDFS starts from: the folder of a formatted name node, and class archives."""

from __future__ import annotations

import os
import urllib.request
from contextlib import ExitStack
from pathlib import Path

from streambed.artifacts.hadoop import (
    Role,
    configuration_text,
    empty_names_path,
    hdfs_class_path,
    hdfs_command,
)
from streambed.artifacts.java import Java
from streambed.artifacts.jvm_commands import archive_path
from streambed.artifacts.locked_jars import Progress, Step, make_cache
from streambed.artifacts.manifests import is_whole, record
from streambed.artifacts.one_shot import (
    background_process,
    dump_classes_at_exit,
    free_ports,
    last_line,
    publish,
    run_to_end,
    temporary_folder,
    write,
)
from streambed.errors import ProcessError
from streambed.record import wait_until

FORMAT_LIMIT_S = 60
START_LIMIT_S = 90
STOP_LIMIT_S = 60
ANSWER_LIMIT_S = 20
ROLES: tuple[Role, ...] = ("namenode", "datanode")


def make_names(java: Java, on_progress: Progress) -> None:
    """Format a name node with its own tool and keep its folder."""
    path = empty_names_path()
    if is_whole(path):
        return
    on_progress(Step(stage="make", what="formatting an HDFS name node…"))
    make_cache(path.parent.name)
    with temporary_folder() as folder:
        configuration, _ = _write_configuration(folder)
        _format(java, folder, configuration)
        if path.is_dir():  # Damaged: its files go with the temporary folder.
            os.replace(path, folder / "damaged")
        os.replace(folder / "names", path)
        record(path)


def make_hdfs(java: Java, on_progress: Progress) -> None:
    """Make the class archives: run a name node and a data node once, write a file and read it."""
    paths = {role: archive_path(role, java, hdfs_class_path()) for role in ROLES}
    if all(map(is_whole, paths.values())):
        return
    on_progress(Step(stage="make", what="making HDFS's class archives (about 20 s)…"))
    with temporary_folder() as folder:
        configuration, port = _write_configuration(folder)
        _format(java, folder, configuration)
        archives = {role: folder / f"{role}.jsa" for role in ROLES}
        with ExitStack() as stack:
            servers = []
            for role in ROLES:
                command = hdfs_command(java, role, configuration, archive=False)
                dumping = dump_classes_at_exit(command, java, archives[role])
                server = background_process(dumping, folder / f"{role}.log")
                servers.append(stack.enter_context(server))
            if not wait_until(lambda: _write_and_read(port), limit_s=START_LIMIT_S, step_s=0.2):
                raise ProcessError(
                    f"HDFS did not take a file: {last_line(folder / 'namenode.log')}"
                )
            for process in servers:
                process.terminate()
            for process in servers:
                process.wait(STOP_LIMIT_S)
        for role in ROLES:
            publish(archives[role], paths[role])


def _write_configuration(folder: Path) -> tuple[Path, int]:
    """Write the configuration of both roles; returns its path and the name node's HTTP port."""
    names, page, blocks, calls, data_page = free_ports(5)
    settings = {
        "fs.defaultFS": f"hdfs://127.0.0.1:{names}",
        "dfs.namenode.http-address": f"127.0.0.1:{page}",
        "dfs.namenode.name.dir": (folder / "names").as_uri(),
        "dfs.datanode.data.dir": (folder / "blocks").as_uri(),
        "dfs.datanode.address": f"127.0.0.1:{blocks}",
        "dfs.datanode.ipc.address": f"127.0.0.1:{calls}",
        "dfs.datanode.http.address": f"127.0.0.1:{data_page}",
        "dfs.datanode.hostname": "127.0.0.1",
        "dfs.permissions.enabled": "false",
        "dfs.replication": "1",
    }
    return write(folder / "hdfs.xml", configuration_text(settings)), page


def _format(java: Java, folder: Path, configuration: Path) -> None:
    command = [
        *hdfs_command(java, "namenode", configuration),
        "-format",
        "-nonInteractive",
        "-force",
    ]
    run_to_end(command, folder / "format.log", FORMAT_LIMIT_S)


def _write_and_read(port: int) -> bool:
    """Write a file and read it back; False if HDFS does not accept files yet."""
    url = f"http://127.0.0.1:{port}/webhdfs/v1/file?user.name=streambed&op="
    try:
        create = urllib.request.Request(f"{url}CREATE&overwrite=true&noredirect=true", method="PUT")
        with urllib.request.urlopen(create, timeout=ANSWER_LIMIT_S) as response:
            data_node_url = response.read().decode().split('"')[3]
        upload = urllib.request.Request(data_node_url, data=b"words", method="PUT")
        urllib.request.urlopen(upload, timeout=ANSWER_LIMIT_S).close()
        with urllib.request.urlopen(f"{url}OPEN", timeout=ANSWER_LIMIT_S) as file:
            return bool(file.read() == b"words")
    except (OSError, IndexError):
        return False

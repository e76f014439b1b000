"""Where Spark listens: on this machine alone if the master is local, and without its web page."""

from __future__ import annotations

import os

from pyspark import SparkConf

LOOPBACK = "127.0.0.1"


def is_local(master: str) -> bool:
    """Whether driver and executors are processes of this machine."""
    return master.startswith("local")


def listening_settings(configured: SparkConf, *, master: str, ui: bool) -> dict[str, str]:
    """Settings for what the user has not configured; with `ui`, the page is on in any case."""
    wanted = {"spark.ui.enabled": "false"}
    if is_local(master or str(configured.get("spark.master", "local"))):
        wanted["spark.driver.host"] = LOOPBACK
        wanted["spark.driver.bindAddress"] = LOOPBACK
    settings = {key: value for key, value in wanted.items() if not configured.contains(key)}
    if ui:
        settings["spark.ui.enabled"] = "true"
    return settings


def bind_ui_to_loopback(master: str) -> None:
    """Spark's page has no setting for its address, only this variable; call before Java starts."""
    if is_local(master):
        os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)

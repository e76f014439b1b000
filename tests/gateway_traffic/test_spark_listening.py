"""Spark's page is off unless asked for, and a local Spark listens on this machine alone."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from pyspark import SparkConf

from gateway_traffic.jobs.listening import listening_settings
from streambed.artifacts.java import find_java

pytestmark = pytest.mark.together(5)


def configured(**settings: str) -> SparkConf:
    conf = SparkConf(loadDefaults=False)
    for key, value in settings.items():
        conf.set(f"spark.{key}", value)
    return conf


@pytest.mark.parametrize("master", ["", "local[2]", "local-cluster[1,1,1024]"])
def test_a_local_spark_listens_on_loopback_without_its_page(master):
    assert listening_settings(configured(), master=master, ui=False) == {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }


def test_a_cluster_can_reach_the_driver():
    wanted = listening_settings(configured(), master="spark://master:7077", ui=False)
    assert wanted == {"spark.ui.enabled": "false"}
    by_file = configured(master="spark://master:7077")
    assert listening_settings(by_file, master="", ui=False) == {"spark.ui.enabled": "false"}


def test_what_the_user_configured_stays():
    conf = configured(**{"ui.enabled": "true", "driver.host": "10.0.0.1"})
    assert listening_settings(conf, master="local", ui=False) == {
        "spark.driver.bindAddress": "127.0.0.1"
    }


def test_the_page_is_there_if_asked_for():
    off = configured(**{"ui.enabled": "false"})
    for conf in (configured(), off):
        assert listening_settings(conf, master="local", ui=True)["spark.ui.enabled"] == "true"


@pytest.mark.spark
def test_settings_reach_java_when_it_starts():
    program = (
        "from gateway_traffic.jobs.job import session\n"
        "spark = session(name='t', master='local[1]', partitions=1, state_store='hdfs',\n"
        "    settings={'spark.driver.memory': '600m'}, ui=True)\n"
        "memory = spark._jvm.java.lang.Runtime.getRuntime().maxMemory()\n"
        "print(memory, spark.sparkContext.uiWebUrl)\n"
        "spark.stop()\n"
    )
    java_home = str(find_java().path.resolve().parents[1])
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        env={**os.environ, "JAVA_HOME": java_home},
    )
    memory, url = done.stdout.split()[-2:]
    assert int(memory) <= 600 << 20
    assert url.startswith("http://127.0.0.1:")

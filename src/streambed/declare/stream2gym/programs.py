"""What runs on the hosts of a stream2gym file: producers and consumers, built in or scripts, and
Spark jobs.
"""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import Any

from streambed.declare.stream2gym.draft import Draft
from streambed.declare.stream2gym.files import KEYS, first_of, form_of
from streambed.declare.stream2gym.form import Form
from streambed.errors import suggestion
from streambed.units import Duration, Frequency, Size

PRODUCERS = ("SFST", "MFST", "ELTT", "STANDARD", "CUSTOM")
CONSUMERS = ("STANDARD", "CUSTOM")
TEXTS = {
    "SFST": "{record}rrrr {n}",
    "MFST": "{record} Topic: {topic} File: {n}",
    "ELTT": "{record}\n",
}
"""What the built-in producers append to each record, as scripts and jobs expect it."""
COMPRESSIONS = ("none", "gzip", "snappy", "lz4")
MEMORY = re.compile(r"([0-9]+)([kmgt]?)b?", re.IGNORECASE)
MEMORY_SHIFTS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
OUTPUT = "logs/output"
OLD_KEYS = {
    "writes": "topicName",
    "reads": "topicName",
    "file": "filePath",
    "rate": "messageRate",
    "batch": "batchSize",
}
"""stream2gym's name of each key, for problems that are found later."""
Body = dict[str, Any]


def put_producers(draft: Draft, host: Form) -> None:
    """The producers of a host: one component for each instance."""
    chosen = _type_of(host, "producer", PRODUCERS)
    form = _form(host, "producerConfig") if chosen else None
    if chosen is None or form is None:
        return
    kind, script = chosen
    instances = form.number("producerInstances", 1)
    if kind == "CUSTOM":
        body = _script(draft, form, script, "producerPath", "producer.py") | {"starts": "load"}
    else:
        body = _built_in_producer(draft, form, kind)
    _put_instances(draft, host, "producer", body, instances, form)
    form.finish(KEYS["producerConfig"])


def put_consumers(draft: Draft, host: Form) -> None:
    """The consumers of a host: one component for each instance, each in a separate group."""
    chosen = _type_of(host, "consumer", CONSUMERS)
    form = _form(host, "consumerConfig") if chosen else None
    if chosen is None or form is None:
        return
    kind, script = chosen
    instances = form.number("consumerInstances", 1)
    if kind == "CUSTOM":
        body = _script(draft, form, script, "consumerPath", "consumer.py")
    else:
        body = _built_in_consumer(form)
    _put_instances(draft, host, "consumer", body, instances, form)
    form.finish(KEYS["consumerConfig"])


def _form(host: Form, key: str) -> Form | None:
    """The settings that an attribute names; none are needed where an old file names a script with
    the type.
    """
    if key in host:
        return form_of(host, key)
    return Form(host.draft, {}, {}, noun=key, node=host.node, place=host.place)


def _type_of(host: Form, role: str, known: tuple[str, ...]) -> tuple[str, str] | None:
    """The type, and the script if an old file names it there: CUSTOM,script.py."""
    host.flag(role)  # Old files mark a host by 1; its type and configuration say the same.
    key = f"{role}Type"
    config = f"{role}Config"
    text = host.text(key)
    if not text and config not in host:
        return None
    kind, _, script = text.partition(",")
    if not text:
        kind = "SFST" if role == "producer" else "STANDARD"
        host.draft.note(f"{config} without {key} is taken to be {kind}", host.node)
    usual = kind.strip().upper()
    if usual not in known:
        host.wrong(key, f"there is no {key} '{kind}'. {suggestion(kind.upper(), known)}")
        return None
    if config not in host and not script:
        host.wrong(config, f"is missing: {key} {kind} needs it")
        return None
    return usual, script.strip()


def _put_instances(
    draft: Draft, host: Form, role: str, body: Body, instances: int, form: Form
) -> None:
    if not instances:
        draft.note(f"{role}Instances is 0: nothing runs", host.node)
    for number in range(1, instances + 1):
        name = f"{host.node}-{role}-{number}"
        path = ("components", name)
        instance = {"kind": body["kind"], "node": host.node, **body}
        if "argv" in body:
            instance["argv"] = [*body["argv"], host.node, str(number)]
        else:
            draft.built_in[role].append(name)
        draft.put(path, instance, form.place)
        draft.mark((*path, "node"), host.place)
        for key, old_key in OLD_KEYS.items():
            draft.mark((*path, key), form.at(old_key))


def _built_in_producer(draft: Draft, form: Form, kind: str) -> Body:
    rate = form.real("messageRate", 0)
    body: Body = {
        "kind": "producer",
        "writes": form.needed("topicName", f"{kind} sends to a topic"),
    }
    if kind == "STANDARD":
        body["text"] = f"{int(form.node[1:]):02}{{n:6}}aaaaaa"
    else:
        body |= _content(draft, form, kind)
    body["rate"] = str(Frequency(rate)) if rate else None
    return body | _client(form)


def _content(draft: Draft, form: Form, kind: str) -> Body:
    sends_folder = kind == "MFST"
    noun = "the files of a folder" if sends_folder else "a file"
    named = form.needed("filePath", f"{kind} sends {noun}")
    body: Body = {"file": _path(draft, form, "filePath", named, folder=sends_folder)}
    if sends_folder:
        form.ignore("totalMessages", "has no effect: MFST sends each file once")
        draft.note("MFST sends files in the order of their names", form.node)
        return body | {"content": "folder", "text": TEXTS[kind], "rounds": 1}
    form.needed("totalMessages", "it says how often to send, 1 or more")
    times = form.number("totalMessages", 1, least=1)
    if kind == "SFST" and named.lower().endswith(".xml"):
        draft.note(
            "SFST sends an XML file as it is: its numbers are not replaced by random ones",
            form.node,
        )
    if kind == "SFST":
        return body | {"content": "whole", "text": TEXTS[kind], "count": times}
    return body | {"text": TEXTS[kind], "rounds": times}


def _path(draft: Draft, form: Form, key: str, named: str, *, folder: bool = False) -> str:
    """The path that a key names, as the declaration has it; as it is if there is none."""
    path = None
    if named:
        path = draft.find(f"{form.node}: {key}", named, form.at(key), folder=folder)
    return draft.relative(path) if path else named


def _client(form: Form) -> Body:
    """The producer's client, with stream2gym's defaults."""
    acks = form.number("acks", 1, most=2)
    compression = form.text("compression", "none").lower()
    if compression not in COMPRESSIONS:
        form.wrong(
            "compression",
            f"there is no compression '{compression}'. {suggestion(compression, COMPRESSIONS)}",
        )
    settings = _client_settings(form)
    batch_bytes = form.number("batchSize", 16_384, least=1)
    linger_ms = form.number("linger", 0, most=900_000)
    body: Body = {"acks": "all" if acks == 2 else acks}
    if compression != "none":
        body["compression"] = compression
    body["batch"] = str(Size(batch_bytes))
    body["linger"] = str(Duration(linger_ms * 1e6))
    if settings:
        body["settings"] = settings
    return body


def _client_settings(form: Form) -> Body:
    """Options of stream2gym that are librdkafka's settings."""
    settings: Body = {}
    if "requestTimeout" in form:
        timeout_ms = form.number("requestTimeout", 30_000, least=10, most=300_000)
        settings["socket.timeout.ms"] = timeout_ms
    if "bufferMemory" in form:
        buffer_bytes = form.number("bufferMemory", 32 << 20, least=1024)
        settings["queue.buffering.max.kbytes"] = math.ceil(buffer_bytes / 1024)
    return settings


def _built_in_consumer(form: Form) -> Body:
    settings: Body = {
        "session.timeout.ms": form.number("sessionTimeout", 10_000, least=6_000, most=1_800_000)
    }
    if "fetchMinBytes" in form:
        settings["fetch.min.bytes"] = form.number("fetchMinBytes", 1, least=1)
    if "fetchMaxWait" in form:
        settings["fetch.wait.max.ms"] = form.number("fetchMaxWait", 500, most=300_000)
    return {
        "kind": "consumer",
        "reads": form.needed("topicName", "STANDARD reads a topic"),
        "settings": settings,
    }


def _script(draft: Draft, form: Form, script: str, key: str, default: str) -> Body:
    """A script, started as `python script h1 1` in the working directory, as before."""
    named = script or form.text(key, default)
    path = draft.find(f"{form.node}: {key}", named, form.at(key))
    program = os.path.relpath(path) if path else named
    names_output = path is not None and OUTPUT in path.read_text(errors="replace")
    if names_output and not Path(OUTPUT).is_dir():
        draft.note(
            f"{program} names {OUTPUT}, which is not in the working directory: make it if the "
            "script writes there",
            form.node,
        )
    return {
        "kind": "command",
        "argv": ["{run.python}", program],
        "cwd": draft.relative(Path.cwd()),
        "on_exit": "record",
    }


def put_job(draft: Draft, host: Form) -> None:
    """The Spark job of a host, unchanged and without arguments."""
    kind = host.text("streamProcType")
    key = first_of(host, ("streamProcConfig", "sparkConfig"))
    if key not in host:
        if kind:
            draft.note("streamProcType without streamProcConfig has no effect", host.node)
        return
    if kind.lower() not in ("", "spark"):
        _refuse_processor(host, kind)
        return
    form = _old_job(host) if key == "sparkConfig" else form_of(host, key)
    if form is None:
        return
    app = form.needed("app", "it names the job's script")
    path = ("components", f"{host.node}-spark")
    body = {
        "kind": "spark_job",
        "node": host.node,
        "job": _path(draft, form, "app", app),
        "cwd": draft.relative(Path.cwd()),
    }
    draft.put(path, {**body, **_cluster(form)}, form.place)
    draft.mark((*path, "node"), host.place)
    form.finish(KEYS["streamProcConfig"])


def _refuse_processor(host: Form, kind: str) -> None:
    known = {
        "flink": "Flink jobs do not run here",
        "kstream": "Kafka Streams programs do not run here",
    }
    says = known.get(kind.lower(), f"there is no stream processor '{kind}'")
    host.wrong(
        "streamProcType",
        f"{says}: only Spark does. A program of another kind can be a `command` of a converted "
        "declaration",
    )


def _old_job(host: Form) -> Form:
    """The old form: script.py,sink."""
    app, _, sink = host.text("sparkConfig").partition(",")
    if sink:
        host.draft.note(
            f"sparkConfig: the sink '{sink.strip()}' has no effect, the job itself says where it "
            "writes",
            host.node,
        )
    place = host.at("sparkConfig")
    return Form(
        host.draft,
        {"app": app.strip()},
        {"app": place},
        noun="sparkConfig",
        node=host.node,
        place=place,
    )


def _cluster(form: Form) -> Body:
    if not form.flag("cluster"):
        for key in ("nSPEWorkerInstances", "nWorkerCores", "workerMemory"):
            form.ignore(key, "has no effect without cluster: True")
        return {}
    workers = form.number("nSPEWorkerInstances", 1, least=1)
    cores = form.number("nWorkerCores", 1, least=1)
    text = form.text("workerMemory", "1g")
    memory = MEMORY.fullmatch(text)
    if not memory:
        form.wrong(
            "workerMemory", f"'{text}' is not a size: write a number and k, m or g, such as 4g"
        )
        return {}
    number, unit = memory.groups()
    memory_bytes = int(number) << MEMORY_SHIFTS[unit.lower()]
    says = (
        f"cluster: Spark runs in local mode with {workers * cores} threads and {text} of memory "
        "in place of a standalone cluster"
    )
    form.draft.note(says, form.node)
    return {"cores": workers * cores, "memory": str(Size(memory_bytes))}

"""Producer: sends what files hold, or made-up records, to a topic, open loop."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from streambed.errors import Problem
from streambed.kinds.components.broker import client_problems
from streambed.kinds.components.component import AutoPlace, missing_file, missing_folder
from streambed.kinds.components.limits import Limits
from streambed.kinds.components.many_hosts import OnManyHosts
from streambed.kinds.components.placement_rule import Placed
from streambed.kinds.components.plan_context import PlanContext
from streambed.kinds.components.profile import RATE_MAX, Profile
from streambed.kinds.components.progress import DeclaredWriter, Progress, writer_of
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import Name, Names, Setting, declared
from streambed.plan import OnExit, ProcessSpec
from streambed.record.events import Wait
from streambed.record.gauges import ProducerGauge
from streambed.record.orders import ProducerMember, ProducerOrder, RecordsOrder, ScheduleOrder
from streambed.units import Duration, Frequency, Size
from streambed.world import World

FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")

SIZE_MAX = Size(100_000_000)
"""More than brokers take in one record."""


@declared
class Transaction:
    """How a producer's records are put together in transactions; a transaction that fails is
    aborted.
    """

    records: Annotated[int, Field(ge=1)]
    """How many records each transaction holds; the last one may hold fewer."""


@declared
class Producer(OnManyHosts):
    """Sends records at `rate` for as long as the run loads: each is due at its own time, whether or
    not the last one was acknowledged.

    Without a rate, `count` or `rounds` records are a burst, all due at the start; and without these
    too it sends as fast as its client takes records, each due when it is sent.
    """

    kind: Literal["producer"] = "producer"
    name: Name
    node: str = ""
    """The host."""
    nodes: Names = ()
    """Several hosts in its place, each with its own producers."""
    place: Placed = None
    """How the host or hosts are chosen if neither `node` nor `nodes` names them."""
    each: Annotated[int, Field(ge=1, le=1000)] = 1
    """How many producers run on each host, each with its own client and rate."""
    agents: Annotated[int, Field(ge=1, le=64)] = 4
    """The producers of several hosts share at most this many processes; each uses its own host's
    network.
    """
    writes: Annotated[Names, Field(min_length=1)]
    """A topic or several."""
    order: Literal["turn", "random"] = "turn"
    """How records go to several topics: to one after the other, or to any, by the seed."""
    file: str = ""
    """What it holds is sent, over and over; empty: made-up records of `size`."""
    content: Literal["lines", "whole", "folder"] = "lines"
    """What a record is: each line of the file, the whole file, or each file of a folder in the
    order of their names.
    """
    text: str = ""
    """What each record says: {record} is what is sent without it, {n} the record's number from 1,
    {topic} the topic.
    """
    function: str = ""
    """module:function of a Python file beside the declaration, which makes each record."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Of each record, filled in as `text` is."""
    key: Literal["none", "tab"] = "none"
    """tab: the text before a line's first tab is the record's key."""
    size: Size = Size(100)
    """Of each made-up record, in the mean."""
    sizes: Literal["constant", "uniform", "exponential", "normal", "lognormal", "pareto"] = (
        "constant"
    )
    """How sizes are drawn around `size`, by the seed; from 1 byte to ten times the mean."""
    keys: Annotated[int, Field(ge=0, le=100_000_000)] = 0
    """How many different keys made-up records have; 0: no key."""
    spread: Literal["uniform", "zipf", "normal"] = "uniform"
    """How keys are drawn."""
    rate: Frequency | None = Frequency(100)
    """How often a record of each producer is due; null: a burst, or as fast as the client takes
    records.
    """
    profile: Profile | None = None
    """How the rate changes while the load lasts; without it, it stays."""
    arrivals: Literal["constant", "exponential", "uniform", "lognormal", "pareto"] = "constant"
    """How the gaps between records are drawn, by the seed: all equal, or by a distribution; the
    number of records stays the same.
    """
    count: Annotated[int, Field(ge=1)] | None = None
    """Stop after this many records."""
    rounds: Annotated[int, Field(ge=1)] | None = None
    """Stop after sending the content of `file` this many times."""
    after: Duration = Duration(0)
    """Begin this long after the start of the load."""
    acks: Literal["all", 0, 1] = "all"
    compression: Literal["none", "gzip", "snappy", "lz4", "zstd"] = "none"
    batch: Size = Size(1_000_000)
    """The largest batch."""
    linger: Duration = Duration(5e6)
    """How long a batch waits for more records."""
    idempotence: bool | None = None
    """Default: wherever acks is all."""
    transaction: Transaction | None = None
    """Send in transactions."""
    ledger: bool = True
    """Record every record it sends; without that, checks cannot judge them."""
    settings: dict[str, Setting] = Field(default_factory=dict)
    """Any of librdkafka's settings."""
    limits: Limits | None = None
    """What each of its processes may use of the machine."""
    on_exit: OnExit = "auto"

    auto_place: ClassVar[AutoPlace] = "round_robin"
    shows_flow: ClassVar[bool] = True
    box_reason: ClassVar[str] = ""

    @model_validator(mode="after")
    def _possible(self) -> Producer:
        if self.rate is not None and not 0 < self.rate.per_s <= RATE_MAX.per_s:
            raise ValueError(f"rate must be above 0 and at most {RATE_MAX}")
        if self.size > SIZE_MAX:
            raise ValueError(f"size {self.size} is too large: a record has at most {SIZE_MAX}")
        if not self.file:
            self._refuse_keys_of_file()
        if self.rate is None:
            self._refuse_keys_of_rate()
        if self.function and (self.file or not FUNCTION.fullmatch(self.function)):
            raise ValueError("function must be module:function, without a file beside it")
        confirmed = self.acks == "all" and self.idempotence is not False
        if self.transaction and not (confirmed and self.ledger):
            raise ValueError("transaction needs acks: all, idempotence and the ledger")
        if self.node and self.nodes:
            raise ValueError("give node or nodes, not both")
        if self.count is not None and self.rounds is not None:
            raise ValueError("give count or rounds, not both")
        if self.idempotence and self.acks != "all":
            raise ValueError(f"idempotence needs acks: all, not {self.acks}")
        return self

    def _refuse_keys_of_rate(self) -> None:
        if self.profile:
            raise ValueError("profile needs a rate")
        if self.arrivals != "constant":
            raise ValueError("arrivals needs a rate")

    def _refuse_keys_of_file(self) -> None:
        if self.key == "tab":
            raise ValueError("key: tab needs a file")
        if self.content != "lines":
            raise ValueError(f"content: {self.content} needs a file")
        if self.rounds is not None:
            raise ValueError("rounds needs a file")

    def problems(self, others: Components, base: Path) -> list[Problem]:
        """Its topics must be declared, its hosts differ, its file or folder be there."""
        wrong = client_problems(self, self.writes, others, "writes")
        wrong += self.named_twice()
        wrong += self._text_problems(others)
        if self.function:
            module = self.function.partition(":")[0]
            wrong += missing_file(f"{module.replace('.', '/')}.py", base, "function")
        if self.profile and self.profile.file:
            wrong += missing_file(self.profile.file, base, "profile.file")
        if self.file and self.content != "folder":
            wrong += missing_file(self.file, base, "file")
        elif self.file:
            wrong += self._folder_problems(base)
        return wrong

    def _folder_problems(self, base: Path) -> list[Problem]:
        missing = missing_folder(self.file, base, "file")
        if missing or any(path.is_file() for path in (base / self.file).glob("*")):
            return missing
        return [Problem(key="file", says=f"the folder '{self.file}' holds no file to send")]

    def _text_problems(self, others: Components) -> list[Problem]:
        """A reader that takes only text fails at the first made-up record, random bytes."""
        made_up = not self.file and not self.function
        if not made_up or (self.text and "{record}" not in self.text):
            return []
        problems = []
        for name, other in others.items():
            text_readers = [reader for reader in other.readers if reader.only_text]
            if any(set(reader.topics) & set(self.writes) for reader in text_readers):
                says = (
                    f"made-up records are random bytes, and '{name}' takes only text: give `text`, "
                    f"`file` or `function` here, or `format: bytes` to '{name}'"
                )
                problems.append(Problem(key="writes", says=says, about=frozenset({name})))
        return problems

    @property
    def topics_written(self) -> tuple[str, ...]:
        """The topics that it sends to."""
        return self.writes

    @property
    def writers(self) -> tuple[DeclaredWriter, ...]:
        """Its client; `settings` win over its own keys."""
        return (writer_of(self._client(), self.writes, transactional=bool(self.transaction)),)

    @property
    def transactional_ids(self) -> tuple[str, ...]:
        """Each of its producers has its name as its id."""
        if not self.transaction:
            return ()
        members = [member for hosts in self.groups.values() for member in self._members(hosts)]
        return tuple(member.name for member in members)

    @property
    def keeps_ledger(self) -> bool:
        """Whether `ledger` is set, which is the default."""
        return self.ledger

    def progress(self, world: World) -> Progress:
        """The drain waits until every record that it sent is decided."""
        waits = []
        for process in self.groups:
            gauge = world.gauge(process)
            done = gauge is not None and gauge.done
            if done or not world.find(process).alive:
                continue
            records = gauge.open if isinstance(gauge, ProducerGauge) else 0
            waits.append(
                Wait(reason="in_flight", reader=process, topics=self.writes, records=records)
            )
        return Progress(waits=tuple(waits))

    def answers(self, data: Path) -> dict[str, str]:
        """References to it; several topics are joined by commas, as Kafka's own programs want
        them.
        """
        return {"topic": ",".join(self.writes)}

    def processes(self, context: PlanContext) -> list[ProcessSpec]:
        """One agent, or a few that hold the producers of many hosts."""
        bootstrap = context.bootstrap_for(self.writes)
        specs = []
        for name, hosts in self.groups.items():
            file = context.order(name, self._order(context, hosts))
            spec = ProcessSpec(
                name=name,
                component=self.name,
                node=hosts[0],
                argv=context.agent("streambed.agents.producer.main", file, hosts),
                env=context.variables(self.name, hosts[0], bootstrap),
                files=(file,),
                on_exit=self.on_exit,
                starts="ready",
                networks=hosts if len(hosts) > 1 else (),
            )
            specs.append(spec)
        return specs

    def _order(self, context: PlanContext, hosts: tuple[str, ...]) -> ProducerOrder:
        broker = context.broker_of(self.writes)
        return ProducerOrder(
            sender=broker.sender,
            members=self._members(hosts),
            records=self._records(context),
            schedule=self._schedule(context),
            client=broker.client(self._client()),
            transaction=self.transaction.records if self.transaction else 0,
            ledger=self.ledger,
        )

    def _members(self, hosts: tuple[str, ...]) -> tuple[ProducerMember, ...]:
        """The producers of one process, numbered among all."""
        everybody = [(host, number) for host in self.hosts for number in range(1, self.each + 1)]
        return tuple(
            ProducerMember(
                name=self._ledger_name(host, number),
                number=at,
                of=len(everybody),
                host=host if len(hosts) > 1 else "",
            )
            for at, (host, number) in enumerate(everybody)
            if host in hosts
        )

    def _records(self, context: PlanContext) -> RecordsOrder:
        return RecordsOrder(
            topics=self.writes,
            order=self.order,
            file=str(context.base / self.file) if self.file else "",
            content=self.content,
            text=self.text,
            function=self.function,
            folder=str(context.base),
            headers=self.headers,
            key=self.key,
            size=self.size.bytes,
            sizes=self.sizes,
            keys=self.keys,
            spread=self.spread,
        )

    def _schedule(self, context: PlanContext) -> ScheduleOrder:
        return ScheduleOrder(
            rate=self.rate.per_s if self.rate else None,
            duration_ns=max(0, context.duration_ns - self.after.ns),
            profile=self.profile.order(str(context.base / self.profile.file))
            if self.profile
            else None,
            arrivals=self.arrivals,
            count=self.count,
            rounds=self.rounds,
            after_ns=self.after.ns,
        )

    def _ledger_name(self, host: str, number: int) -> str:
        """What one producer is called in the ledger."""
        parts = [self.name]
        if self.nodes:
            parts.append(host)
        if self.each > 1:
            parts.append(str(number))
        return "/".join(parts)

    def _client(self) -> dict[str, Setting]:
        return {
            "acks": self.acks,
            "compression.type": self.compression,
            "batch.size": self.batch.bytes,
            "linger.ms": self.linger.ms,
            "enable.idempotence": self.acks == "all"
            if self.idempotence is None
            else self.idempotence,
            **self.settings,
        }

from streambed import Jam
from streambed.plan import Machine
from tests.support.fakes import FakeWorld


def test_a_jammed_link_holds_packets_from_its_source_until_healed():
    world = FakeWorld()

    injected = Jam(at="1s", lasts="2s", link=("edge", "core"), source="edge").inject(world)

    assert world.wire(("edge", "core")).changes == {"edge": {"held": True}}
    assert injected.target == "edge → core"
    injected.heal()
    assert world.wire(("edge", "core")).changes == {}


def test_a_jam_is_refused_where_packets_are_delayed_by_netem():
    fault = Jam(at="1s", lasts="2s", link=("edge", "core"))

    assert "cannot hold them: use cut or degrade" in fault.lacks(Machine(means="netem"))
    assert fault.lacks(Machine(means="delay_line")) == ""

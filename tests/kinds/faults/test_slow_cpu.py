import pytest
from pydantic import ValidationError

from streambed import SlowCpu
from tests.support.fakes import FakeWorld


def test_a_slow_process_has_its_share_until_healed_and_the_event_says_by_what_means():
    world = FakeWorld()

    injected = SlowCpu(at="1s", lasts="2s", target="shout", share="20%").inject(world)

    assert world.find("shout").share == 0.2
    assert (injected.target, injected.how) == ("shout to 20%", "by a fake")
    injected.heal()
    assert world.find("shout").share == 1.0


@pytest.mark.parametrize("share", ["0%", "100%"])
def test_a_share_of_nothing_or_of_all_is_refused(share):
    with pytest.raises(ValidationError, match="share must be above 0 and below 100%"):
        SlowCpu(at="1s", lasts="2s", target="shout", share=share)

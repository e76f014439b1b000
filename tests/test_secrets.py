"""Secrets are neither passed on nor shown unless it is asked for."""

from __future__ import annotations

import pytest

from streambed.record.secrets import (
    is_secret,
    masked_command,
    masked_text,
    masked_value,
    masked_words,
)
from streambed.results.comparison import differences
from streambed.runner.launcher import passed_environment


@pytest.mark.parametrize(
    "name",
    [
        "sasl.password",
        "AWS_SECRET_ACCESS_KEY",
        "GITHUB_TOKEN",
        "sasl.jaas.config",
        "api_key",
        "requirepass",
        "DB_PASS",
        "MYSQL_PWD",
    ],
)
def test_a_name_that_looks_like_a_secret(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name", ["key", "sasl.mechanism", "rate", "sasl.oauthbearer.token.url", "PWD", "STREAMBED_PASS"]
)
def test_a_name_that_does_not(name: str) -> None:
    assert not is_secret(name)


def test_passwords_in_texts_are_masked() -> None:
    assert masked_text("jdbc:x://bob:pa55@db:5432/t") == "jdbc:x://bob:******@db:5432/t"
    assert masked_text("--token=abc --rate=5") == "--token=****** --rate=5"
    assert masked_text("postgresql://bob@db:5432/t") == "postgresql://bob@db:5432/t"


def test_the_word_after_a_secret_option_is_masked() -> None:
    words = masked_words(["run", "--password", "pa55", "--rate", "5"])

    assert list(words) == ["run", "--password", "******", "--rate", "5"]


def test_a_comparison_names_the_key_of_a_secret_and_not_its_value() -> None:
    assert masked_value("components.shop.settings.sasl.password", "pa55") == "******"
    assert differences({"env": {"API_TOKEN": "a"}}, {"env": {"API_TOKEN": "b"}}) == [
        ("env.API_TOKEN", "******", "******")
    ]


@pytest.mark.parametrize("key", ["sasl.jaas.config", "fs.s3a.access.key", "api.key"])
def test_a_secret_of_two_words_is_masked_in_a_dotted_key(key: str) -> None:
    assert masked_value(f"components.shop.settings.{key}", "pa55") == "******"


def test_a_component_may_be_called_like_a_secret() -> None:
    assert masked_value("components.token-service.rate", "5/s") == "5/s"


def test_a_command_can_be_shown_with_a_secret_of_several_words() -> None:
    command = "streambed run a.yaml --set 'components.shop.env.PASSWORD=two words' --seed 5"

    masked = "streambed run a.yaml --set 'components.shop.env.PASSWORD=******' --seed 5"
    assert masked_command(command) == masked
    assert masked_command("streambed run a.yaml --set 'faults=[]'") == (
        "streambed run a.yaml --set 'faults=[]'"
    )


def test_programs_inherit_what_they_need_and_what_is_asked_for() -> None:
    shell = {
        "PATH": "/bin",
        "LC_ALL": "C",
        "SPARK_LOCAL_DIRS": "/d",
        "SPARK_AUTH_SECRET": "s",
        "SSH_AUTH_SOCK": "/s",
        "https_proxy": "http://p",
        "MY_TOKEN": "t",
        "OTHER_TOKEN": "o",
        "STREAMBED_PASS": "MY_TOKEN, REGION",
        "REGION": "eu",
    }

    assert passed_environment(shell).keys() == {
        "PATH",
        "LC_ALL",
        "SPARK_LOCAL_DIRS",
        "STREAMBED_PASS",
        "MY_TOKEN",
        "REGION",
    }

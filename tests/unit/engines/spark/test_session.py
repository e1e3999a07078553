"""The jar, and the settings of a session that commits through it."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import fsspec_commit as fc
from fsspec_commit.engines.spark import session


class Builder:
    """What `configure` uses of PySpark's."""

    def __init__(self, **options: str) -> None:
        self._options = dict(options)

    def config(self, name: str, value: str) -> Builder:
        self._options[name] = value
        return self


def configured(**options: str) -> dict[str, str]:
    builder: Any = Builder(**options)
    assert fc.spark.configure(builder) is builder
    settings: dict[str, str] = builder._options
    return settings


@pytest.fixture(autouse=True)
def jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "a.jar"
    path.write_bytes(b"")
    monkeypatch.setattr(session, "_JAR", path)
    monkeypatch.setattr("pyspark.SparkContext._active_spark_context", None)
    monkeypatch.setattr("pyspark.SparkContext._jvm", None)
    return path


def test_a_session_has_three_settings(jar: Path) -> None:
    assert configured() == {
        "spark.jars": str(jar),
        "spark.sql.sources.commitProtocolClass": session.PROTOCOL_CLASS,
        "spark.fsspec_commit.python": sys.executable,
    }


def test_other_jars_stay(jar: Path) -> None:
    options = {"spark.jars": f"/other.jar,{jar}"}
    assert configured(**options)["spark.jars"] == f"/other.jar,{jar}"


class Running:
    """What `configure` asks of a running context."""

    def __init__(self, **settings: str) -> None:
        self._settings = settings

    def getConf(self) -> dict[str, str]:  # noqa: N802  # Spark's
        return self._settings


def test_a_running_session_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark.SparkContext._active_spark_context", Running())
    with pytest.raises(fc.RequestError, match=r"spark\.stop\(\) first"):
        configured()


def test_a_cell_that_is_run_again_finds_its_session(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"spark.sql.sources.commitProtocolClass": session.PROTOCOL_CLASS}
    monkeypatch.setattr("pyspark.SparkContext._active_spark_context", Running(**settings))
    assert configured() == {}


@pytest.mark.parametrize("running", [None, Running()])
def test_a_jvm_without_the_jar_is_of_no_use(
    monkeypatch: pytest.MonkeyPatch, running: Running | None
) -> None:
    """To stop the session is not enough: the next one could not even read."""
    utilities = SimpleNamespace(classIsLoadable=lambda name: name != session.PROTOCOL_CLASS)
    spark = SimpleNamespace(util=SimpleNamespace(Utils=utilities))
    jvm = SimpleNamespace(org=SimpleNamespace(apache=SimpleNamespace(spark=spark)))
    monkeypatch.setattr("pyspark.SparkContext._jvm", jvm)
    monkeypatch.setattr("pyspark.SparkContext._active_spark_context", running)
    with pytest.raises(fc.RequestError, match="restart the kernel"):
        configured()


def test_without_the_jar_it_is_said_how_to_have_it(jar: Path) -> None:
    jar.unlink()
    with pytest.raises(FileNotFoundError, match="install a JDK"):
        fc.spark.jar()


def test_the_class_is_where_spark_looks_for_it() -> None:
    source = Path(session.__file__).parent / "jvm" / session.PROTOCOL_CLASS.replace(".", "/")
    assert source.with_suffix(".java").is_file()
    made = Path(session.__file__).parent / "jvm" / "fsspec-commit-spark.jar"
    if made.exists():  # Where there is Java.
        name = session.PROTOCOL_CLASS.replace(".", "/") + ".class"
        assert name in zipfile.ZipFile(made).namelist()

"""Every example in README.md and docs/*.md is run, so that what the pages say is what happens.

A page is one test: its blocks run in order, in one namespace, in a fresh directory:

* ``python``: executed. A block that begins with ``>>>`` is a doctest. One whose first line is a
  file's name, ``# worker.py``, is saved under that name instead, for later blocks to use.
* ``console``: each line after ``$ `` is run by a shell whose standard output is a terminal, except
  what installs or builds (`NOT_RUN`). Where output is shown it must come out so, and the command
  must end well, unless the output shown has an ``error:`` line.
* What differs from run to run is compared by kind: times, sizes, digests and so on. A job id stands
  for the same job on all of its page, so a command may use one that an earlier output showed.
* ``/home/you`` is the directory of the page, ``laptop`` the machine. In the directory there is
  ``new/``, two small CSV files.
* Where a page says ``s3://bucket``, it is a new bucket on a server that is started for it, and the
  environment has its endpoint and its account.
* ``<!-- skip: why -->`` before a block leaves it out. A fence of any other language is only shown.

This is a hundred lines of our own because the libraries for it (sybil, pytest-examples) run Python
blocks and doctests, but not a command whose output names the job that the next command settles.
"""

from __future__ import annotations

import doctest
import os
import pty
import re
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import fsspec_commit as fc
from fsspec_commit import store, testing
from fsspec_commit.store import registry
from tests.servers.kinds import MINISTACK
from tests.servers.plugin import get_or_skip

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", *(f"docs/{page.name}" for page in sorted((ROOT / "docs").glob("*.md")))]
NOT_RUN = ("git ", "make ", "pip ", "python -m tests.")

BLOCK = re.compile(
    r"^(?:<!-- skip: (?P<why>.+?) -->\n)?```(?P<language>python|console)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
FILE = re.compile(r"# (?P<name>[\w.-]+\.\w+)\n")
COMMAND = re.compile(r"^\$ (?P<line>(?:.*\\\n)*.*)\n(?P<shown>(?:(?!\$ ).*\n)*)", re.MULTILINE)
JOB_ID = re.compile(r"\d{8}T\d{6}-[0-9a-f]{16}")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# What differs from run to run, and what stands for it in a comparison.
KINDS = (
    (re.compile(r"\b[0-9a-f]{64}\b"), "<digest>"),
    (re.compile(r"\b[0-9a-f]+-[0-9a-f]{16}-[0-9a-f]+\b"), "<token>"),
    (re.compile(r"\b[0-9a-f]{32}\b"), "<nonce>"),
    (re.compile(r"\b[0-9a-f]{16}\b"), "<id>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?( UTC|\+00:00)?"), "<time>"),
    (re.compile(r"\b\d+(\.\d+)? ?(s|ms)\b"), "<duration>"),
    (re.compile(r"\b\d+(\.\d+)? (B|kB|MB)\b"), "<size>"),
    (re.compile(r"[─━]+"), "─"),
    (re.compile(r"[ \t]+"), " "),
)


@dataclass
class Page:
    """One page while its examples run.

    Attributes:
        directory: Where they run.
        job_ids: The real job that a job id of the page stands for.
        namespace: What its Python blocks have defined.
        stand_ins: What is real for words of the page that name no thing of this machine.
    """

    directory: Path
    job_ids: dict[str, str] = field(default_factory=dict)
    namespace: dict[str, Any] = field(default_factory=lambda: {"__name__": "example"})
    stand_ins: dict[str, str] = field(default_factory=dict)

    def run(self, block: re.Match[str], where: str) -> None:
        body = block["body"]
        for word, real in self.stand_ins.items():
            body = body.replace(word, real)
        saved = FILE.match(body)
        if block["language"] == "console":
            for command in COMMAND.finditer(body):
                self.run_command(command["line"], command["shown"], where)
        elif saved:
            (self.directory / saved["name"]).write_text(body, "utf-8")
        elif body.startswith(">>> "):
            self.run_doctest(body, where)
        else:
            exec(compile(body, where, "exec"), self.namespace)

    def run_doctest(self, body: str, where: str) -> None:
        test = doctest.DocTestParser().get_doctest(body, self.namespace, where, where, 0)
        runner = doctest.DocTestRunner(Checker(self), optionflags=doctest.ELLIPSIS)
        told: list[str] = []
        if runner.run(test, out=told.append, clear_globs=False).failed:
            pytest.fail("".join(told))
        self.namespace.update(test.globs)

    def run_command(self, line: str, shown: str, where: str) -> None:
        if line.startswith(NOT_RUN):
            return
        line = JOB_ID.sub(lambda job_id: self.job_ids.get(job_id[0], job_id[0]), line)
        status, output = run_on_terminal(line, self.directory)
        expected = "\nerror:" not in f"\n{shown}"
        assert (status == 0) == expected, f"{where}: {line}: exit status {status}\n{output}"
        matches = Checker(self).check_output(shown, output, doctest.ELLIPSIS)
        assert matches or not shown.strip(), (
            f"{where}: {line}\n--- shown ---\n{shown}--- real ---\n{self.as_shown(output)}"
        )

    def as_shown(self, output: str) -> str:
        """Real output, with the names that stand for this machine and this directory."""
        output = COLOUR.sub("", output)
        for word, real in self.stand_ins.items():
            output = output.replace(real, word)
        return output.replace(str(self.directory), "/home/you").replace(
            socket.gethostname(), "laptop"
        )

    def same_jobs(self, shown: list[str], real: list[str]) -> bool:
        """Whether the job ids of an output are those that the page means; new ones are learnt."""
        pairs = zip(shown, real, strict=False)
        return all(self.job_ids.setdefault(theirs, ours) == ours for theirs, ours in pairs)


class Checker(doctest.OutputChecker):
    """Compares what is shown with what came out, by kind where runs differ."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        matches = super().check_output(
            by_kind(self.page.as_shown(want)),
            by_kind(self.page.as_shown(got)),
            optionflags | doctest.ELLIPSIS,
        )
        return matches and self.page.same_jobs(JOB_ID.findall(want), JOB_ID.findall(got))


def by_kind(text: str) -> str:
    text = JOB_ID.sub("<job>", text)
    for kind, name in KINDS:
        text = kind.sub(name, text)
    return "".join(f"{line.strip()}\n" for line in text.splitlines() if line.strip())


def run_on_terminal(line: str, directory: Path) -> tuple[int, str]:
    """Run a shell command as at a terminal of 120 columns: exit status, and what was printed."""
    ours, theirs = pty.openpty()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = {**kept, "PATH": path, "COLUMNS": "120", "TERM": "xterm", "NO_COLOR": "1"}
    # Workers of a cluster that ends may complain that nobody hears their heartbeat.
    environment["DASK_LOGGING__DISTRIBUTED"] = "critical"
    with subprocess.Popen(
        ["bash", "-c", line], cwd=directory, env=environment, stdout=theirs, stderr=subprocess.PIPE
    ) as process:
        os.close(theirs)
        printed = b"".join(iter(lambda: read_terminal(ours), b""))
        os.close(ours)
        assert process.stderr is not None
        errors = process.stderr.read()
    return process.returncode, printed.decode().replace("\r\n", "\n") + errors.decode()


def read_terminal(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1 << 16)
    except OSError:  # Linux says so when the last writer is gone
        return b""


def s3(request: pytest.FixtureRequest) -> dict[str, str]:
    """A server for a page that shows one: what stands for it there, and the account around it."""
    request.getfixturevalue("s3_environment")
    server = get_or_skip(request.getfixturevalue("servers"), MINISTACK)
    options = server.storage_options_without()
    environment = request.getfixturevalue("monkeypatch")
    environment.setenv("AWS_ENDPOINT_URL", server.endpoint_url)
    environment.setenv("AWS_ACCESS_KEY_ID", options["key"])
    environment.setenv("AWS_SECRET_ACCESS_KEY", options["secret"])
    return {
        "s3://bucket": f"s3://{server.new_bucket()}",
        "https://s3.example.com": server.endpoint_url,
        "AKIAIOSFODNN7EXAMPLE": options["key"],
        "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY": options["secret"],
    }


def text_of(page: str) -> str:
    return (ROOT / page).read_text("utf-8")


def blocks_of(page: str) -> list[tuple[re.Match[str], str]]:
    text = text_of(page)
    return [
        (block, f"{page}:{text.count(chr(10), 0, block.start('body')) + 1}")
        for block in BLOCK.finditer(text)
    ]


@pytest.fixture
def own_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a page saves, imports and registers is forgotten after it."""
    monkeypatch.setattr(registry, "_registered", {})
    yield
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.mark.usefixtures("own_modules")
@pytest.mark.parametrize("page", [page for page in PAGES if blocks_of(page)])
def test_the_examples_of_a_page_work(
    page: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("DASK_TEMPORARY_DIRECTORY", str(tmp_path))
    (tmp_path / "new").mkdir()
    (tmp_path / "new/1.csv").write_text("day,clicks\n2026-11-20,3\n2026-11-21,5\n", "utf-8")
    (tmp_path / "new/2.csv").write_text("day,clicks\n2026-11-21,8\n", "utf-8")
    uses_s3 = any("s3://bucket" in block["body"] for block, _ in blocks_of(page))
    running = Page(tmp_path, stand_ins=s3(request) if uses_s3 else {})
    for block, where in blocks_of(page):
        if block["why"] is None:
            running.run(block, where)


def test_every_block_of_python_is_seen() -> None:
    """A fence that is indented, or has words behind its language, would be left out in silence."""
    for page in PAGES:
        text = text_of(page)
        fences = re.findall(r"^[ \t]*```[ \t]*(?:python|py|console)\b.*$", text, re.MULTILINE)
        assert len(fences) == len(blocks_of(page)), page


@pytest.mark.parametrize("page", PAGES)
def test_nothing_is_left_out_that_could_be_run(page: str) -> None:
    """A page may be ahead of the code: ``skip: needs fc.name`` is over when the name is there."""
    needed = re.findall(r"<!-- .*?\bfc\.(\w+)", (ROOT / page).read_text("utf-8"))
    assert [name for name in needed if hasattr(fc, name)] == []


@pytest.mark.parametrize("package", [fc, store, testing], ids=lambda package: package.__name__)
def test_the_api_page_names_every_public_name(package: ModuleType) -> None:
    page = re.sub(r"<!--.*?-->", "", (ROOT / "docs/api.md").read_text("utf-8"), flags=re.DOTALL)
    named = set(re.findall(r"^\.\. (?:auto|py:)\w+:: (?:[\w.]+\.)?(\w+)$", page, re.MULTILINE))
    assert set(package.__all__) - named == set()


@pytest.mark.parametrize(
    ("command", "shown"), [("echo one", "two\n"), ("false", ""), ("echo fine", "error: no\n")]
)
def test_a_wrong_example_is_noticed(tmp_path: Path, command: str, shown: str) -> None:
    with pytest.raises(AssertionError):
        Page(tmp_path).run_command(command, shown, "here")


def test_a_job_id_stands_for_one_job(tmp_path: Path) -> None:
    one, other = (f"20261120T14035{n}-0123456789abcdef" for n in range(2))
    shown = "20260101T000000-9c1e5f00a1b2c3d4"
    page = Page(tmp_path)
    page.run_command(f"echo {one}", f"{shown}\n", "here")
    page.run_command(f"test {shown} = {one}", "", "here")
    with pytest.raises(AssertionError):
        page.run_command(f"echo {other}", f"{shown}\n", "here")

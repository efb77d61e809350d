"""The page on integrations is run: each configuration is read as its host reads it, and what it starts answers."""

import json
import os
import re
import shutil
import subprocess
import sysconfig
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest
import yaml
from homes import FIXTURES, ingest
from markdown_it import MarkdownIt
from mcp import Client, StdioServerParameters, stdio_client

from a2a_trust.advice import DISCLAIMER
from a2a_trust.settings import read_settings

PAGE = Path(__file__).resolve().parent.parent / "docs/integrations.md"
READERS = {"json": json.loads, "toml": tomllib.loads, "yaml": yaml.safe_load}

# What each plugin of the DeepSeek Harness documents in its README: the keys of its configuration, those needed first.
DSH_PLUGINS = {
    "@deepseek-ai/dsh-hooks-claude-code": (
        {"configPath"},
        {"configPath", "pluginRoot", "projectDir", "defaultTimeoutMs", "stderrSummaryMaxChars"},
    ),
    "@deepseek-ai/dsh-mcp-client": (
        {"serverName", "transport", "command"},
        {"serverName", "transport", "command", "args", "env", "cwd", "toolCallTimeoutMs"},
    ),
}


class Config(NamedTuple):
    """A configuration on the page."""

    section: str
    tag: str
    content: Any


def sections() -> Iterator[tuple[str, str, str]]:
    """Section, tag and text of every code block of the page."""
    heading, inside = "", False
    for token in MarkdownIt("commonmark").parse(PAGE.read_text(encoding="utf-8")):
        if token.type == "heading_open":
            inside = True
        elif token.type == "inline" and inside:
            heading, inside = token.content, False
        elif token.type == "fence":
            yield heading, token.info.strip(), token.content


CONFIGS = [Config(section, tag, READERS[tag](text)) for section, tag, text in sections() if tag in READERS]
HOOKS = [
    (config.section, event, handler)
    for config in CONFIGS
    if isinstance(config.content, dict)
    for event, groups in config.content.get("hooks", {}).items()
    for group in groups
    for handler in group["hooks"]
]
ROWS = [row for config in CONFIGS if config.tag == "yaml" for layer in config.content for row in layer["insert"]]
SERVERS = [
    *((config.section, server) for config in CONFIGS if config.tag == "json"
      for server in config.content.get("mcpServers", {}).values()),
    *((config.section, server) for config in CONFIGS if config.tag == "toml"
      for server in config.content.get("mcp_servers", {}).values()),
    *(("DeepSeek Harness", row["config"]) for row in ROWS if row["config"].get("transport") == "stdio"),
]  # fmt: skip


@pytest.fixture(scope="module")
def environ(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What a host gives its hooks and servers: a PATH with our command, and a user with a home of ours."""
    user = tmp_path_factory.mktemp("user")
    ingest(user / ".a2a-trust", FIXTURES / "a-team")
    path = os.pathsep.join((sysconfig.get_path("scripts"), os.environ["PATH"]))
    return {"PATH": path, "HOME": str(user), "LANG": "C.UTF-8"}


def test_every_host_is_on_the_page() -> None:
    """Each that is named has a hook and a server to show."""
    hosts = {"Claude Code", "DeepSeek Harness", "Codex"}
    assert {section for section, _, _ in HOOKS} == {section for section, _ in SERVERS} == hosts


@pytest.mark.parametrize(("section", "event", "handler"), HOOKS, ids=[f"{hook[0]}-{hook[1]}" for hook in HOOKS])
def test_a_hook_on_the_page_answers(environ: dict[str, str], section: str, event: str, handler: dict[str, Any]) -> None:
    """Run through a shell with what the host documents, it prints the documented object, within its timeout."""
    assert set(handler) == {"type", "command", "timeout"}
    given = {
        "session_id": "abc123",
        "transcript_path": None if section == "Codex" else "/home/dev/x.jsonl",
        "cwd": "/home/dev/project",
        "hook_event_name": event,
        **({"source": "startup"} if event == "SessionStart" else {"prompt": "Go on"}),
    }
    done = subprocess.run(
        ["/bin/sh", "-c", handler["command"]],
        env=environ,
        input=json.dumps(given).encode(),
        capture_output=True,
        timeout=handler["timeout"] * 6,
        check=True,
    )
    output = json.loads(done.stdout)
    assert set(output) == {"hookSpecificOutput"}
    assert output["hookSpecificOutput"]["hookEventName"] == event
    assert output["hookSpecificOutput"]["additionalContext"].endswith(DISCLAIMER)


@pytest.mark.parametrize(("section", "server"), SERVERS, ids=[section for section, _ in SERVERS])
def test_a_server_on_the_page_answers(environ: dict[str, str], section: str, server: dict[str, Any]) -> None:
    """Started as the host starts it, it offers its tools to the official client, and answers one."""

    async def run() -> tuple[set[str], Any]:
        command = StdioServerParameters(command=server["command"], args=server["args"], env=environ)
        async with Client(stdio_client(command)) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            return names, (await client.call_tool("trust_query", {"agent": "researcher"})).structured_content

    names, answer = anyio.run(run)
    assert names == {"trust_query", "trust_compare", "trust_list"}, section
    assert answer["agent"]["name"] == "researcher"


def test_the_patch_layer_is_as_the_harness_documents_it() -> None:
    """Each row has an id of its own, a plugin, and only keys that the plugin knows."""
    assert len({row["id"] for row in ROWS}) == len(ROWS) == len(DSH_PLUGINS)
    for row in ROWS:
        assert set(row) == {"id", "name", "config"}
        needed, known = DSH_PLUGINS[row["name"]]
        assert needed <= set(row["config"]) <= known
        assert re.fullmatch(r"[A-Za-z0-9_-]{1,32}", row["config"].get("serverName", "x"))


def test_the_status_line_on_the_page_prints_one_line(environ: dict[str, str]) -> None:
    """Claude Code shows the first line of it."""
    (line,) = [config.content["statusLine"] for config in CONFIGS if "statusLine" in config.content]
    done = subprocess.run(["/bin/sh", "-c", line["command"]], env=environ, input=b"{}", capture_output=True, check=True)
    assert done.stdout.count(b"\n") == 1


def test_the_settings_on_the_page_are_read(tmp_path: Path) -> None:
    """The file of the example has no problems, and sets what it says."""
    (text,) = [text for _, tag, text in sections() if tag == "toml" and "[signals]" in text]
    (tmp_path / "config.toml").write_text(text, encoding="utf-8")
    settings = read_settings(tmp_path, {})
    assert (settings.mode, settings.max_tokens, settings.problems) == ("all", 300, [])


def test_the_text_on_the_page_is_the_text(environ: dict[str, str]) -> None:
    """What the page shows is what the command prints."""
    (shown,) = [text for _, tag, text in sections() if tag == "text"]
    done = subprocess.run(["a2a-trust", "signals"], env=environ, capture_output=True, check=True)  # noqa: S607 - on PATH
    assert done.stdout.decode() == shown


def test_the_library_on_the_page_runs(environ: dict[str, str], tmp_path: Path) -> None:
    """The example prints the text of the two agents that it names, and a total."""
    (code,) = [text for _, tag, text in sections() if tag == "python"]
    shutil.copytree(Path(environ["HOME"]) / ".a2a-trust", tmp_path / ".demo-home")
    python = Path(sysconfig.get_path("scripts")) / "python"
    done = subprocess.run([python, "-c", code], env=environ, cwd=tmp_path, capture_output=True, check=True)
    lines = done.stdout.decode().splitlines()
    assert [line.partition(":")[0] for line in lines[1:3]] == ["researcher", "reviewer"]
    assert re.fullmatch(r"0\.\d+ [0-9a-f]{64}", lines[-1])

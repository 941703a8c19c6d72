"""The script of docs/ci.md runs a command with a server, and leaves the log of its requests."""

import json
import os
import pathlib
import re
import subprocess

from server_binary import binary

PAGE = (pathlib.Path(__file__).resolve().parents[2] / "docs/ci.md").read_text()
QUERY = "/database/1/iCloud.com.example.App/development/private/records/query"


def run(folder, command):
    """The script in a folder, which finds `skylight` by its name, as an installed package has it."""
    [script] = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    (folder / "test-with-skylight").write_text(script)
    (folder / "bin").mkdir()
    (folder / "bin/skylight").symlink_to(os.path.abspath(binary()))
    environment = os.environ | {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    return subprocess.run(
        ["sh", "test-with-skylight", "sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False)


def test_the_request_log_is_kept(tmp_path):
    done = run(tmp_path, f"""curl -s "$SKYLIGHT_URL{QUERY}" -d '{{"query": {{"recordType": "Note"}}}}' && skylight user list""")
    assert done.returncode == 0, done.stderr
    assert "developer" in done.stdout
    requests = json.loads((tmp_path / "requests.json").read_text())["requests"]
    assert QUERY in [request["target"] for request in requests]


def test_the_status_is_that_of_the_tests(tmp_path):
    assert run(tmp_path, "exit 3").returncode == 3
    assert json.loads((tmp_path / "requests.json").read_text())["requests"] == []

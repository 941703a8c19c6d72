"""The commands in the README work as written."""

import json
import pathlib
import re
import subprocess

README = (pathlib.Path(__file__).resolve().parents[2] / "README.md").read_text()
ADDRESS = "http://127.0.0.1:8080"


def test_the_curl_commands_answer(server):
    commands = re.findall(r"^curl .*?(?=^(?:curl|```))", README, re.MULTILINE | re.DOTALL)
    assert commands, "The README shows no curl command"
    for command in commands:
        assert ADDRESS in command
        result = subprocess.run(["bash", "-c", command.replace(ADDRESS, server)], capture_output=True, text=True, timeout=60, check=True)
        answer = json.loads(result.stdout)
        if "X-Skylight-Rehearse: throttled" in command:
            assert answer["serverErrorCode"] == "THROTTLED"
        else:
            assert answer.get("records") or answer.get("zones"), f"{command} answers {result.stdout}"

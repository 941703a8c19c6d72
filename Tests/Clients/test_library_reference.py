"""The reference of RemoteRecords: each link in a comment leads to one place (docs/architecture.md)."""

import pathlib
import subprocess

from server_binary import PACKAGE, binary


def test_the_reference_is_made_without_a_warning():
    built = pathlib.Path(binary()).resolve().parent
    made = subprocess.run(
        [PACKAGE / "Scripts/make-docs", built, "--warnings-as-errors"], capture_output=True, text=True, timeout=600, check=False)
    assert made.returncode == 0, made.stdout + made.stderr

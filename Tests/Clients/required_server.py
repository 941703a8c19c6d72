"""A server that requires credentials, for tests of access control.

    from required_server import RequiredServer

    with RequiredServer() as server:
        requests.get(server.address + "/metrics", auth=server.administrator)
"""

import os
import pathlib
import signal
import subprocess
import tempfile

from server_binary import binary

PASSWORD = "correct horse battery"


class RequiredServer:
    """`skylight serve --auth required` with its own data folder, and commands that work on it."""

    administrator = ("admin", PASSWORD)

    def __init__(self, *arguments, environment=None):
        self._folder = tempfile.TemporaryDirectory(prefix="skylight-required-")
        self.data = pathlib.Path(self._folder.name) / "data"
        environment = {**os.environ, "SKYLIGHT_ADMIN_PASSWORD": PASSWORD, **(environment or {})}
        # A file, because an unread pipe would fill up.
        self._log = tempfile.TemporaryFile(mode="w+")
        self.process = subprocess.Popen(
            [binary(), "serve", "--auth", "required", "--port", "0", "--data", str(self.data), *arguments],
            stdout=subprocess.PIPE, stderr=self._log, text=True, env=environment,
        )
        line = self.process.stdout.readline()
        if not line.startswith("Skylight is listening on http"):
            self.process.kill()
            raise RuntimeError(f"The server did not start: {line!r} {self.log!r}")
        self.address = line.split()[-1]

    def command(self, *arguments, input=None):
        """The output of a command that works on the server's data folder, and so through the server."""
        environment = {name: value for name, value in os.environ.items() if name != "SKYLIGHT_ADMIN_PASSWORD"}
        done = subprocess.run(
            [binary(), *arguments, "--data", str(self.data)], input=input, capture_output=True, text=True, env=environment, timeout=120,
        )
        assert done.returncode == 0, f"{arguments}: {done.stderr}"
        return done.stdout

    @property
    def log(self):
        """The server's standard error output so far."""
        self._log.seek(0)
        return self._log.read()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(timeout=60) == 0, f"The server did not end as it should: {self.log!r}"
        self.process.stdout.close()
        self._log.close()
        self._folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

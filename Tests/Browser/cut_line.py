"""A proxy to a server whose connections can be cut."""

import contextlib
import socket
import threading
from urllib.parse import urlsplit


class CutLine:
    """A proxy on its own port. It forwards everything until it is cut, and then accepts new connections."""

    def __init__(self, address: str):
        self.target = (urlsplit(address).hostname, urlsplit(address).port)
        self._ends = set()
        self._carriers = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def cut(self):
        """Breaks all open connections."""
        for end in list(self._ends):
            _shut(end)

    def stop(self):
        """Closes the proxy with all connections."""
        # This wakes the thread that waits for connections; closing alone would leave it blocked.
        _shut(self._listener)
        self._accepting.join(10)
        self._listener.close()
        self.cut()
        for carrier in self._carriers:
            carrier.join(10)

    def _accept(self):
        while True:
            try:
                browser, _ = self._listener.accept()
            except OSError:
                return
            carrier = threading.Thread(target=self._carry, args=(browser,), daemon=True)
            self._carriers.append(carrier)
            carrier.start()

    def _carry(self, browser):
        with browser, contextlib.suppress(OSError), socket.create_connection(self.target) as server:
            ends = {browser, server}
            self._ends |= ends
            back = threading.Thread(target=_pass, args=(server, browser), daemon=True)
            back.start()
            _pass(browser, server)
            back.join()
            self._ends -= ends


def _pass(source, target):
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    _shut(source)
    _shut(target)


def _shut(end):
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)

"""A line to a server on which assets travel slowly, and on which things go wrong when asked to."""

import socket
import threading
import time
from urllib.parse import urlsplit


class SlowLine:
    """A proxy on a port of its own. Pages pass as fast as they come; only assets are held back."""

    def __init__(self, address: str, rate: int | None = None):
        self.target = (urlsplit(address).hostname, urlsplit(address).port)
        # Bytes a second of each asset, down and up; None for as fast as it goes.
        self.rate = rate
        # Heads of the requests for assets, in their order.
        self.requests = []
        # The most assets that came down at the same time.
        self.most = 0
        # What goes wrong next: answers of the line itself, ranges that are not passed on, bytes that are not the server's.
        self.answers = []
        self.drops_ranges = False
        self.flips = 0
        # Whether assets find no way at all.
        self.is_down = False
        self._moving = {}
        self._assets = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        # Little is on the way between, so that who sends knows how much has arrived.
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32_768)
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self):
        """Breaks what is on its way now."""
        for pair in list(self._assets):
            for end in pair:
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def stop(self):
        self._listener.close()
        self.cut()

    def _accept(self):
        while True:
            try:
                browser, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(browser,), daemon=True).start()

    def _serve(self, browser):
        try:
            server = socket.create_connection(self.target)
        except OSError:
            browser.close()
            return
        pair = (browser, server)
        state = {"asset": False}
        threading.Thread(target=self._down, args=(server, browser, state, pair), daemon=True).start()
        try:
            while data := browser.recv(65536):
                if data.split(b" ", 1)[0] in (b"GET", b"POST", b"HEAD", b"PUT", b"OPTIONS"):
                    state["asset"] = data.split(b" ", 2)[1].startswith(b"/assets/")
                    if state["asset"] and self.is_down:
                        return
                    if state["asset"]:
                        self.requests.append(data.split(b"\r\n\r\n")[0].decode("latin-1"))
                        self._assets.add(pair)
                        if self.answers and data.startswith(b"GET"):
                            browser.sendall(self.answers.pop(0))
                            continue
                        if self.drops_ranges:
                            data = b"\r\n".join(line for line in data.split(b"\r\n") if not line.lower().startswith((b"range:", b"if-range:")))
                    else:
                        self._assets.discard(pair)
                self._pass(data, server, state["asset"], None)
        except OSError:
            pass
        finally:
            self._close(pair)

    def _down(self, server, browser, state, pair):
        try:
            while data := server.recv(65536):
                if state["asset"] and self.flips and len(data) > 4096:
                    self.flips -= 1
                    data = data[:-1] + bytes([data[-1] ^ 1])
                self._pass(data, browser, state["asset"], pair)
        except OSError:
            pass
        finally:
            self._close(pair)

    def _pass(self, data, to, is_asset, pair):
        rate = self.rate
        if not is_asset or rate is None:
            to.sendall(data)
            return
        step = max(1024, rate // 20)
        for start in range(0, len(data), step):
            part = data[start:start + step]
            to.sendall(part)
            now = time.monotonic()
            # An answer without a body is not something that comes down.
            if pair and len(part) > 1000:
                self._moving[pair] = now
                self.most = max(self.most, sum(1 for moment in self._moving.values() if now - moment < 0.12))
            time.sleep(len(part) / rate)

    def _close(self, pair):
        self._assets.discard(pair)
        self._moving.pop(pair, None)
        for end in pair:
            try:
                end.close()
            except OSError:
                pass

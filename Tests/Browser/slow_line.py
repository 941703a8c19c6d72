"""A proxy that slows assets down, and injects faults on request."""

import socket
import threading
import time
from urllib.parse import urlsplit

# Bytes per second of an asset that nearly stands still.
TRICKLE = 2_000


class SlowLine:
    """A proxy on its own port. Only assets are delayed."""

    def __init__(self, address: str, rate: int | None = None):
        self.target = (urlsplit(address).hostname, urlsplit(address).port)
        # Bytes per second of each asset in each direction; None for no limit.
        self.rate = rate
        # The bytes of each downloaded asset after which it nearly stands still, so that a test acts before the end on a busy machine too;
        # None if none does. Pages show what they have only when more comes, so no asset stops entirely.
        self.slows_after = None
        # The heads of the requests for assets, in order.
        self.requests = []
        # The maximum number of assets downloaded at the same time.
        self.most = 0
        # The next faults: own answers of the proxy, dropped ranges, altered bytes.
        self.answers = []
        self.drops_ranges = False
        self.flips = 0
        # True if no assets pass.
        self.is_down = False
        self._moving = {}
        self._assets = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        # Small buffers, so that the sender's progress is accurate.
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32_768)
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self):
        """Breaks all current transfers."""
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
        state = {"asset": False, "passed": 0}
        threading.Thread(target=self._down, args=(server, browser, state, pair), daemon=True).start()
        try:
            while data := browser.recv(65536):
                if data.split(b" ", 1)[0] in (b"GET", b"POST", b"HEAD", b"PUT", b"OPTIONS"):
                    state["asset"] = data.split(b" ", 2)[1].startswith(b"/assets/")
                    state["passed"] = 0
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
                self._pass(data, server, state, None)
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
                self._pass(data, browser, state, pair)
        except OSError:
            pass
        finally:
            self._close(pair)

    def _pass(self, data, to, state, pair):
        # The rate may change on the way.
        while data:
            rate = self.rate if state["asset"] else None
            if rate and self.slows_after is not None and state["passed"] >= self.slows_after:
                rate = TRICKLE
            step = max(1024, rate // 20) if rate else len(data)
            part, data = data[:step], data[step:]
            to.sendall(part)
            if rate is None:
                continue
            now = time.monotonic()
            if pair:
                state["passed"] += len(part)
                # An answer without a body does not count as a download.
                if len(part) > 1000:
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

"""A way to a server that can be cut: a socket that passes on what it is sent, until nobody listens there any more."""

from __future__ import annotations

import socket
import time
from contextlib import suppress
from threading import Lock, Thread
from urllib.parse import urlsplit

HOST = "127.0.0.1"


class Cable:
    def __init__(self, server: str) -> None:
        parts = urlsplit(server)
        self._end = (parts.hostname or HOST, parts.port or 0)
        self._open: list[socket.socket] = []
        self._lock = Lock()
        self._listen(0)

    def address(self, server: str) -> str:
        """The same server, reached through here."""
        return server.replace(f":{self._end[1]}/", f":{self.port}/")

    def cut(self, seconds: float = 3.0) -> None:
        """Connections break, and none is let in for so long."""
        self.close()
        time.sleep(seconds)
        self._listen(self.port)

    def close(self) -> None:
        with self._lock:
            for each in (self._door, *self._open):
                _hang_up(each)
            self._open.clear()

    def _listen(self, port: int) -> None:
        self._door = socket.create_server((HOST, port))
        self.port = int(self._door.getsockname()[1])
        Thread(target=self._let_in, args=(self._door,), daemon=True).start()

    def _let_in(self, door: socket.socket) -> None:
        with suppress(OSError):
            while True:
                near, _ = door.accept()
                far = socket.create_connection(self._end)
                with self._lock:
                    self._open += [near, far]
                for one, other in ((near, far), (far, near)):
                    Thread(target=_pass_on, args=(one, other), daemon=True).start()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while sent := source.recv(65536):
            target.sendall(sent)
    _hang_up(source)
    _hang_up(target)


def _hang_up(end: socket.socket) -> None:
    """Closing alone would not wake whoever waits for it."""
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()

"""A server that speaks just enough of the MySQL protocol for a load driver, on a Unix socket."""

import socketserver
import struct
import threading
import time
from contextlib import contextmanager
from pathlib import Path

_CAPABILITIES = 0x00000200 | 0x00008000 | 0x00080000 | 0x00000008 | 0x00000001


class FakeServer:
    """Answers every statement; ``answer`` may take its time, and returns an error's number or 0."""

    def __init__(self, answer=lambda _text: 0):
        self.answer = answer
        self.statements = []


def _packet(number, payload):
    return struct.pack("<I", len(payload))[:3] + bytes([number]) + payload


def _greeting():
    low, high = _CAPABILITIES & 0xFFFF, _CAPABILITIES >> 16
    head = b"\x0a" + b"9.0.0-fake\0" + struct.pack("<I", 1) + b"12345678\0"
    middle = struct.pack("<HBHHB", low, 45, 2, high, 21) + b"\0" * 10
    return head + middle + b"123456789012\0" + b"mysql_native_password\0"


def _ok(changed):
    return b"\x00" + bytes([changed]) + b"\x00\x02\x00\x00\x00"


def _error(number):
    return b"\xff" + struct.pack("<H", number) + b"#40001" + b"refused"


@contextmanager
def listening(path: Path, server: FakeServer):
    """The server at a socket, until the block ends."""

    class Conversation(socketserver.BaseRequestHandler):
        def read(self):
            head = self.request.recv(4, 0x100)  # MSG_WAITALL
            if len(head) < 4:
                return b""
            size = int.from_bytes(head[:3], "little")
            return self.request.recv(size, 0x100)

        def handle(self):
            self.request.sendall(_packet(0, _greeting()))
            self.read()
            self.request.sendall(_packet(2, _ok(0)))
            while (request := self.read()) and request[0] != 1:
                text = request[1:].decode()
                own = request[0] == 3 and not text.startswith("SET ")
                error = 0
                if own:
                    server.statements.append((time.monotonic(), text))
                    error = server.answer(text)
                self.request.sendall(_packet(1, _error(error) if error else _ok(int(own))))

    class Listener(socketserver.ThreadingUnixStreamServer):
        daemon_threads = True
        request_queue_size = 256

    listener = Listener(str(path), Conversation)
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        listener.shutdown()
        thread.join()
        listener.server_close()

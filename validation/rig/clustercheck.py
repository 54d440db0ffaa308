"""Answers checks of a proxy as ``clustercheck`` does: 200 from a synced node of Galera, else 503.

``python -m simrep.rig.clustercheck SOCKET ADDRESS PORT`` runs until it is ended; it asks the server
behind the socket each time.
"""

from __future__ import annotations

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

__all__ = ["READY", "main"]

READY = "answers checks"
"""What it prints when it does."""

_GIVES_UP_S = 10
_SYNCED = "4"


def _is_synced(socket: str) -> bool:
    import pymysql

    try:
        session = pymysql.connect(
            unix_socket=socket, user="root", connect_timeout=_GIVES_UP_S, read_timeout=_GIVES_UP_S
        )
        with session, session.cursor() as cursor:
            cursor.execute("show global status like 'wsrep_local_state'")
            row = cursor.fetchone()
            return row is not None and str(row[1]) == _SYNCED
    except (pymysql.MySQLError, OSError):
        return False


def main() -> None:
    """Answer for ever."""
    socket, address, port = sys.argv[1:]

    class Check(BaseHTTPRequestHandler):
        def do_OPTIONS(self) -> None:
            self.send_response(200 if _is_synced(socket) else 503)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_OPTIONS  # noqa: N815 - the name of http.server

        def log_message(self, *_: object) -> None:
            """Checks are no news."""

    server = ThreadingHTTPServer((address, int(port)), Check)
    sys.stdout.write(f"{READY}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()

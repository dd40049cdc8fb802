"""The tool server that ``toolpulse demo`` watches: a week of a small company's tools, on the loopback interface.

Answers vary as real ones do, from a fixed seed. ``PLANTED`` says what goes wrong on which day.
"""

from __future__ import annotations

import json
import random
import socketserver
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlsplit

DAYS: Final = 7

PLANTED: Final = {
    3: "search finds nothing for a while",
    4: "one of several pages is an error",
    5: "an invoice in cents becomes one in euros",
    6: "a deploy renames a field of search and turns the score into text",
}
"""What goes wrong, by day."""

_WORDS: Final = "retry budget timeout queue cache index shard lease quota token".split()


class ToolServer:
    """Serves the tools while its block runs. Set ``day`` (from 1) to move on. No thread or socket outlives it."""

    def __init__(self, seed: int = 20) -> None:
        self.day = 1
        self._random = random.Random(seed)  # noqa: S311 - it makes up data
        self._server = _Server(("127.0.0.1", 0), _handler(self._answer))
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), name="toolpulse-demo", daemon=True
        )

    @property
    def url(self) -> str:
        """Where it listens, without a slash at the end."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _answer(self, path: str) -> Any:
        """The answer to a path; None where there is nothing."""
        tools: dict[str, Callable[[], Any]] = {
            "/search": self._search,
            "/pages": self._pages,
            "/invoice": self._invoice,
        }
        return tools[path]() if path in tools else None

    def _some(self, share: float) -> bool:
        return self._random.random() < share

    def _search(self) -> dict[str, Any]:
        count = 0 if self.day == 3 and self._some(0.4) else self._random.randint(1, 8)
        hits = [self._hit() for _ in range(count)]
        authors = {
            f"user_{self._random.randint(10_000, 99_999)}": {"hits": 1, "team": "docs"} for _ in range(max(3, count))
        }
        answer = {"request_id": f"req_{self._random.getrandbits(32):08x}", "results": hits, "authors": authors}
        if self._some(0.5):
            answer["did_you_mean"] = self._random.choice(_WORDS)
        return answer

    def _hit(self) -> dict[str, Any]:
        words = " ".join(self._random.sample(_WORDS, 3))
        score = round(self._random.random(), 2) + 0.001
        hit = {
            "id": f"doc_{self._random.randint(1, 999)}",
            "title": words.title(),
            "score": score,
            "snippet": f"... {words} ...",
        }
        if self.day >= 6:
            hit["summary"] = hit.pop("snippet")
            hit["score"] = f"{score:.2f}"
        if self._some(0.5):
            hit["highlights"] = self._random.sample(_WORDS, self._random.randint(0, 2))
        return hit

    def _pages(self) -> dict[str, Any]:
        pages: list[dict[str, Any]] = [self._page() for _ in range(self._random.randint(2, 4))]
        if self.day == 4 and self._some(0.4):
            pages[-1] = {"error": {"code": 503, "reason": "upstream timed out"}}
        return {"pages": pages, "next": self._random.choice([None, "cursor_2"])}

    def _page(self) -> dict[str, Any]:
        return {"url": f"/docs/{self._random.randint(1, 99)}", "text": " ".join(_WORDS), "words": len(_WORDS)}

    def _invoice(self) -> dict[str, Any]:
        cents = self._random.randint(1_000, 99_999)
        total = cents / 100 + 0.001 if self.day >= 5 else cents
        return {"number": self._random.randint(1, 9_999), "currency": "EUR", "total": total, "paid": self._some(0.5)}


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # closing the server waits for such threads
    allow_reuse_address = False

    def server_bind(self) -> None:
        # HTTPServer asks the resolver for the name of the host, which can take seconds
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", int(self.server_address[1])

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: a stranger may connect to the port and hang up."""


def _handler(answer: Callable[[str], Any]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 5
        wbufsize = -1

        def do_GET(self) -> None:
            content = answer(urlsplit(self.path).path)
            body = json.dumps(content).encode()
            self.send_response(200 if content is not None else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is http.server's
            return

    return Handler

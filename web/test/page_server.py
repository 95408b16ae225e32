#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A web server of this machine for this machine: folders under prefixes, on 127.0.0.1.

As a command: page_server.py [--port N] [--page PATH] PREFIX=FOLDER ...
"""
import argparse
import http.server
import pathlib
import sys
import threading
import urllib.parse

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".wasm": "application/wasm",
}


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def _reply(self, status, body=b"", kind="text/plain; charset=utf-8"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _find(self):
        """The file that the path names, and the prefix that it is below; None where there is no such folder."""
        path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
        folders = self.server.folders
        for prefix in sorted(folders, key=len, reverse=True):
            if not path.startswith(prefix):
                continue
            root = pathlib.Path(folders[prefix]).resolve()
            file = (root / path[len(prefix):].lstrip("/")).resolve()
            return (file, prefix) if file.is_relative_to(root) else (None, prefix)
        return None, None

    def do_GET(self):
        if self.path == "/blank":
            return self._reply(200, b"<!doctype html><title>blank</title>", TYPES[".html"])
        if self.path == "/favicon.ico":
            return self._reply(204)
        file, _ = self._find()
        if file and file.is_dir():
            file = file / "index.html"
        if not file or not file.is_file():
            return self._reply(404, b"there is no such file")
        return self._reply(200, file.read_bytes(), TYPES.get(file.suffix, "application/octet-stream"))

    do_HEAD = do_GET

    def do_PUT(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        file, prefix = self._find()
        if not file or prefix not in self.server.writable:
            return self._reply(403, b"nothing can be written there")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(body)
        return self._reply(200)


class PageServer(http.server.ThreadingHTTPServer):
    """Serves `folders`, a map from prefix ("/", "/data/") to folder; below the prefixes in `writable`, PUT writes files. /blank is
    an empty page."""
    daemon_threads = True

    def __init__(self, folders, writable=(), port=0):
        super().__init__(("127.0.0.1", port), _Handler)
        self.folders, self.writable = dict(folders), set(writable)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request, client_address):
        pass  # a page that went away in the middle of an answer

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


def main():
    parser = argparse.ArgumentParser(description="serves folders on 127.0.0.1")
    parser.add_argument("folders", nargs="+", metavar="PREFIX=FOLDER")
    parser.add_argument("--port", type=int, default=0, help="0: any that is free")
    parser.add_argument("--page", default="/", help="the path of the page to name")
    args = parser.parse_args()
    try:
        server = PageServer(dict(pair.split("=", 1) for pair in args.folders), port=args.port)
    except OSError as error:
        print(f"error: port {args.port}: {error.strerror}", file=sys.stderr)
        return 1
    print(f"{server.url}{args.page}  (end with Ctrl-C)", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())

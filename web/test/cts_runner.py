#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cts_runner.py --batch FILE: runs calls of the conformance suite in Chromium, through the runtime for browsers. FILE is that of
tools/tern/cts/executor.h (MakeImageExecutor)."""
import argparse
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from chromium import Browser, BrowserError  # noqa: E402
from page_server import PageServer  # noqa: E402

WEB = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TIMEOUT = 120  # seconds a call may take: the first of a program compiles its shaders


def local(path, folder):
    """The path under which the server has a file of the folder."""
    return "/files/" + os.path.relpath(path, folder)


def read_calls(batch):
    folder = os.path.dirname(os.path.abspath(batch))
    with open(batch, encoding="utf-8") as file:
        for line in file:
            call = json.loads(line)
            call["module"] = local(call["module"], folder)
            for arg in call["args"]:
                if "memory" in arg:
                    arg["memory"] = local(arg["memory"], folder)
            yield call


def report(number, error):
    print(f"call {number} failed: {' '.join(error.split())}" if error else f"call {number} ok", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", required=True)
    batch = parser.parse_args().batch
    folders = {"/files/": os.path.dirname(os.path.abspath(batch)), "/web/": WEB}
    with PageServer(folders, ["/files/"]) as server, Browser(timeout=TIMEOUT) as browser:
        page = browser.open(server.url + "/blank")
        for number, call in enumerate(read_calls(batch), 1):
            print(f"call {number} begins", flush=True)
            try:
                report(number, page.evaluate(f'return (await import("/web/test/cts_runner.js")).run({json.dumps(call)});'))
            except (BrowserError, TimeoutError) as error:
                report(number, str(error) or "no answer")
                return 1  # the suite starts another browser for the rest
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""models_test.py BUILD [FOLDER]: models in the browser, on WebGPU and as WebAssembly, by the page of web/demo. What the page shows is read and compared;
pictures of it are kept in FOLDER. One model on pictures, all of them where TERN_TEST_FULL is 1, the one on text, and a camera."""
import json
import os
import subprocess
import sys

from page_test import SIZES, expect
from web_test import WEB, WebTest

WAIT = """while (!(Number(document.body.dataset.runs) >= %d)) await new Promise((done) => setTimeout(done, 20));
return { status: document.getElementById("status").textContent, figures: [...document.querySelectorAll("dd")].map((dd) => dd.textContent),
         top: [...document.querySelectorAll("#top li")].map((item) => item.textContent), data: { ...document.body.dataset },
         tooWide: document.documentElement.scrollWidth > innerWidth };"""
TOKENS = """const display = (selector) => getComputedStyle(document.querySelector(selector)).display;
return { words: [...document.querySelectorAll("#tokens span")].map((item) => item.firstChild.textContent), picture: display("figure.picture"),
         text: display("#text-field") };"""
TEXT_MODEL = 3
SELECT = """(() => { const select = document.getElementById("%s"); select.value = "%s"; select.dispatchEvent(new Event("change")); })()"""


def check(page, runs, what):
    """The numbers that the page got, after so many runs."""
    shown = page.evaluate(WAIT % runs)
    expect(shown["status"] == "", f"{what}: {shown['status']}")
    expect(len(shown["top"]) == 5 and all(text.endswith(" %") for text in shown["top"]), shown["top"])
    expect(all(text[-2:] in ("ms", " s", "kB", "MB") for text in shown["figures"]), shown["figures"])
    expect(not shown["tooWide"], f"{what}: the page is wider than its window")
    print(f"{what}: {shown['figures'][0]}, {shown['top'][0]}", flush=True)
    return json.loads(shown["data"]["values"])


def difference(a, b):
    return max(abs(x - y) for x, y in zip(a, b)) / max(map(abs, b))


def main():
    pictures = sys.argv[2] if len(sys.argv) > 2 else None
    if pictures:
        os.makedirs(pictures, exist_ok=True)
    count = 3 if os.environ.get("TERN_TEST_FULL") == "1" else 1
    with WebTest(sys.argv[1]) as test:
        subprocess.run([os.path.join(WEB, "demo", "build.sh"), test.tern, test.folder], check=True, stdout=subprocess.DEVNULL)
        for size, window in SIZES.items():
            page = test.browser.open(test.url + "/web/demo/models.html", *window)
            runs = 1
            for model in range(count if size == "desktop" else 1):
                if model:
                    page.evaluate(SELECT % ("model", model))
                    runs += 1
                on_device = check(page, runs, f"model {model}, WebGPU")
                if pictures and model == 0:
                    page.screenshot(os.path.join(pictures, f"models_{size}.png"))
                page.evaluate(SELECT % ("place", "wasm"))
                runs += 1
                on_host = check(page, runs, f"model {model}, WebAssembly")
                expect(difference(on_device, on_host) < 1e-4, f"model {model}: WebGPU and WebAssembly differ by {difference(on_device, on_host)}")
                if model + 1 < count and size == "desktop":
                    page.evaluate(SELECT % ("place", "webgpu"))
                    runs += 1
                    check(page, runs, f"model {model}, WebGPU again")
            page.evaluate(SELECT % ("model", TEXT_MODEL))
            runs += 1
            check_text(page, runs, pictures and os.path.join(pictures, f"text_{size}.png"))
            expect(not page.problems, page.problems)
            page.close()
        check_camera(test)
        check_without_webgpu(test)
    return 0


def check_text(page, runs, picture):
    """Words become ids, and the result is that of the last one; on WebAssembly, then on WebGPU, then of another text."""
    on_host = check(page, runs, "text, WebAssembly")
    page.evaluate(SELECT % ("place", "webgpu"))
    on_device = check(page, runs + 1, "text, WebGPU")
    expect(difference(on_device, on_host) < 1e-4, f"text: WebGPU and WebAssembly differ by {difference(on_device, on_host)}")
    tokens = page.evaluate(TOKENS)
    expect(tokens["words"][:3] == ["the", "tern", "is"] and len(tokens["words"]) == 14, tokens)
    expect(tokens["picture"] == "none" and tokens["text"] != "none", tokens)
    if picture:
        page.screenshot(picture)
    page.evaluate("""(() => { const text = document.getElementById("text"); text.value = "Another text."; text.dispatchEvent(new Event("change")); })()""")
    other = check(page, runs + 2, "another text")
    expect(difference(other, on_device) > 1e-3, "another text has the same result")


def check_camera(test):
    """What a camera sees, frame by frame, until it is stopped."""
    page = test.browser.open(test.url + "/web/demo/models.html")
    first = check(page, 1, "before the camera")
    page.evaluate("document.getElementById('camera').click()")
    seen = check(page, 4, "the camera")
    expect(difference(seen, first) > 1e-3, "the camera's picture has the result of the one before")
    page.evaluate("document.getElementById('camera').click()")
    expect(page.evaluate("document.getElementById('camera').ariaPressed") == "false", "the camera is not stopped")
    expect(not page.problems, page.problems)
    page.close()


def check_without_webgpu(test):
    page = test.browser.open(test.url + "/blank")
    page.command("Page.addScriptToEvaluateOnNewDocument", source="Object.defineProperty(Navigator.prototype, 'gpu', { value: undefined });")
    page.navigate(test.url + "/web/demo/models.html")
    check(page, 1, "model 0, without WebGPU")


if __name__ == "__main__":
    sys.exit(main())

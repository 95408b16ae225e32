#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""models_test.py BUILD [FOLDER]: models in the browser, on WebGPU and as WebAssembly, by the page of web/demo. What the page shows is read and compared;
pictures of it are kept in FOLDER. One model on WebGPU, all of them where TERN_TEST_FULL is 1."""
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
            expect(not page.problems, page.problems)
            page.close()
        check_without_webgpu(test)
    return 0


def check_without_webgpu(test):
    page = test.browser.open(test.url + "/blank")
    page.command("Page.addScriptToEvaluateOnNewDocument", source="Object.defineProperty(Navigator.prototype, 'gpu', { value: undefined });")
    page.navigate(test.url + "/web/demo/models.html")
    check(page, 1, "model 0, without WebGPU")


if __name__ == "__main__":
    sys.exit(main())

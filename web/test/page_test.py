#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""page_test.py BUILD [FOLDER]: the page of web/demo in windows of two sizes. Its pictures are kept in FOLDER."""
import os
import subprocess
import sys

from web_test import WEB, WebTest

SIZES = {"desktop": ((1280, 860), 1, False), "phone": ((390, 844), 2, True)}
WAIT = """while (!(Number(document.body.dataset.runs) >= %d)) await new Promise((done) => setTimeout(done, 20));
return { status: document.getElementById("status").textContent, figures: [...document.querySelectorAll("dd")].map((dd) => dd.textContent),
         source: document.getElementById("source").textContent, tooWide: document.documentElement.scrollWidth > innerWidth,
         colours: [...document.querySelectorAll("canvas")].map((canvas) => {
           const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
           return new Set(new Uint32Array(data.buffer)).size;
         }) };"""


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def check(page, runs, kernel):
    """What the page shows after so many runs."""
    shown = page.evaluate(WAIT % runs)
    expect(shown["status"] == "", shown["status"])
    gpu, rate, host, difference = shown["figures"]
    expect(gpu.endswith(" ms") and host.endswith(" ms") and float(rate) > 0, shown["figures"])
    expect(float(difference) < 1e-5, f"{kernel}: WebGPU and WebAssembly differ by {difference}")
    expect(f"// {kernel}_kernel" in shown["source"] and "@compute" in shown["source"], shown["source"][:200])
    expect(min(shown["colours"]) > 2, f"{kernel}: a picture is empty: {shown['colours']}")
    expect(not shown["tooWide"], f"{kernel}: the page is wider than its window")
    print(f"{kernel}: {gpu}, {rate} GFLOP/s, WebAssembly {host}, difference {difference}", flush=True)


def main():
    pictures = sys.argv[2] if len(sys.argv) > 2 else None
    if pictures:
        os.makedirs(pictures, exist_ok=True)
    with WebTest(sys.argv[1]) as test:
        subprocess.run([os.path.join(WEB, "demo", "build.sh"), test.tern, test.folder], check=True)
        for size, window in SIZES.items():
            page = test.browser.open(test.url + "/web/demo/", *window)
            for runs, kernel in enumerate(("matmul", "softmax", "filter"), 1):
                if runs > 1:
                    page.evaluate(f"document.querySelector('input[value={kernel}]').click()")
                check(page, runs, kernel)
                if pictures:
                    page.screenshot(os.path.join(pictures, f"{kernel}_{size}.png"))
            expect(not page.problems, page.problems)
            if size == "desktop":
                check_losing_the_device(page)
            page.close()
        check_without_webgpu(test)
    return 0


def check_without_webgpu(test):
    """The host code computes the result."""
    page = test.browser.open(test.url + "/blank")
    page.command("Page.addScriptToEvaluateOnNewDocument", source="Object.defineProperty(Navigator.prototype, 'gpu', { value: undefined });")
    page.navigate(test.url + "/web/demo/")
    shown = page.evaluate(WAIT % 1)
    expect(shown["status"].startswith("This browser has no WebGPU"), shown["status"])
    expect(shown["figures"][0] == "–" and shown["figures"][2].endswith(" ms"), shown["figures"])
    expect(min(shown["colours"]) > 2, "a picture is empty")


def check_losing_the_device(page):
    """The next run has another one."""
    page.evaluate("""const device = (await import("/web/demo/demo.js")).device(); device.gpu.destroy(); return device.lost;""")
    expect(page.evaluate("document.getElementById('device').textContent").startswith("lost: "), "the page says nothing")
    page.evaluate("document.getElementById('run').click()")
    check(page, 4, "filter")


if __name__ == "__main__":
    sys.exit(main())

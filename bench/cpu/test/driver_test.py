#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""driver_test.py BINARIES TARGET: the machinery of `./dev bench cpu` with Tern alone, on small cases."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import page  # pylint: disable=wrong-import-position
import peers  # pylint: disable=wrong-import-position
import report  # pylint: disable=wrong-import-position

BINARIES, TARGET = sys.argv[1:3]


def measure(folder, *arguments):
    command = [sys.executable, os.path.join(HERE, "..", "driver.py"), "--tiny", "--rounds", "1", "--seconds", "0.001", "--check", "--threads", "1,2",
               "--binaries", BINARIES, "--output", folder, "--target", TARGET, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)


class DriverTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def results(self):
        with open(os.path.join(self.folder, "cpu.json"), encoding="utf-8") as file:
            return {(result["case"], result["threads"]): result for result in json.load(file)["results"]}

    def test_every_kind_is_computed_right(self):
        done = measure(self.folder, "--peers", "", "--kernels", os.path.join(HERE, "good"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        results = self.results()
        self.assertEqual(len(results), 22)
        self.assertEqual(results["matmul.5x19x7", 1]["peers"]["tern"]["variant"], "prepared")
        self.assertEqual(results["rows.sum.37", 2]["peers"]["tern"]["variant"], "plain")
        for result in results.values():
            self.assertGreater(result["limit"], 0)
            self.assertGreater(result["peers"]["tern"]["seconds"], 0)
        with open(os.path.join(self.folder, "cpu.html"), encoding="utf-8") as file:
            self.assertIn("rows.softmax.3x17", file.read())

    def test_what_is_wrong_is_said(self):
        done = measure(self.folder, "--peers", "", "--kernels", os.path.join(HERE, "wrong"), "--cases", "softmax|^matmul|transpose", "--threads", "1")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("Tern is WRONG: off by", done.stdout)
        self.assertIn("the case has no tensor D", done.stdout)
        self.assertIn("Tern has no right result of matmul.5x19x7, rows.softmax.3x17\n", done.stderr)
        self.assertNotIn("wrong", self.results()["rows.transpose.9x9", 1]["peers"]["tern"])

    def test_a_folder_for_another_machine(self):
        done = measure(self.folder, "--prepare", self.folder, "--before", os.path.join(BINARIES, "tern"), "--cases", "rows.sum")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        command = [sys.executable, "driver.py", "--compiled", "--tiny", "--rounds", "1", "--threads", "1,2", "--cases", "rows.sum"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(set(self.results()["rows.sum.37", 2]["peers"]), {"tern", "before", "control"})

    def test_no_case(self):
        done = measure(self.folder, "--cases", "nothing")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no case matches nothing", done.stderr)


class PeersTest(unittest.TestCase):
    def test_who_is_missing_is_said(self):
        with tempfile.TemporaryDirectory() as folder:
            found = peers.Peers(["eigen"], 1, folder, folder, folder)
            self.assertEqual((found.workers, found.missing), ({}, {"eigen": "its library was not there when this was built"}))
            with self.assertRaisesRegex(peers.Unavailable, "ended with status 3"):
                peers.Worker("x", ["sh", "-c", "exit 3"], 1, folder)
            with self.assertRaisesRegex(peers.Unavailable, "not a library"):
                peers.Worker("x", ["echo", "no not a library"], 1, folder)

    def test_an_unknown_name(self):
        done = measure(".", "--peers", "acme")
        self.assertEqual(done.returncode, 2)
        self.assertIn("unknown peer acme; there are onnxruntime", done.stderr)


class ReportTest(unittest.TestCase):
    RESULT = {"case": "x", "group": "rows", "threads": 1, "operations": 10, "bytes": 4, "limit": 1.0, "cannot": {},
              "peers": {"tern": {"seconds": 4.0}, "slow": {"seconds": 8.0}, "onnxruntime": {"seconds": 2.0}, "liar": {"seconds": 1.0, "wrong": "off"}}}

    def test_ratios_leave_out_who_is_wrong(self):
        self.assertEqual(report.best_peer(self.RESULT), ("onnxruntime", 2.0))
        self.assertEqual(report.ratio(self.RESULT), 0.5)
        self.assertEqual(report.ratio(self.RESULT, "slow"), 2.0)
        self.assertIsNone(report.ratio(self.RESULT, "liar"))

    def test_summaries(self):
        faster = self.RESULT | {"case": "y", "peers": {"tern": {"seconds": 1.0}, "slow": {"seconds": 8.0}}}
        lines = report.summaries({"results": [self.RESULT, faster]})
        self.assertEqual([(line[2], line[3]) for line in lines], [("best peer", 2), ("onnxruntime", 1)])
        self.assertAlmostEqual(lines[0][4], 2.0)
        self.assertEqual(lines[0][5:], (0.5, "x"))
        both = [self.RESULT | {"group": "conv"}, self.RESULT | {"group": "depthwise"}]
        self.assertIn((1, "all convolutions", "best peer", 2, 0.5, 0.5, "x"), [(*line[:4], round(line[4], 9), *line[5:]) for line in report.summaries({"results": both})])

    def test_page_escapes(self):
        result = self.RESULT | {"cannot": {"tern": "a < b"}, "peers": {}}
        data = {"machine": "m", "date": "", "target": "t", "load": 0, "seconds": 1, "rounds": 1, "results": [result], "peaks": {}, "versions": {},
                "missing": {"x": "<none>"}}
        text = page.page(data)
        self.assertIn("a &lt; b", text)
        self.assertIn("&lt;none&gt;", text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

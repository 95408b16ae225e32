#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""package_test.py: what `npm pack` makes of web/ is whole: node imports it from a project's node_modules, and TypeScript's compiler takes programs that use it
as its types say, and refuses others. Skipped without npm; types are checked where there is a tsc (PATH, or the variable TSC)."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

WEB = pathlib.Path(__file__).resolve().parents[1]
SKIPPED = 77
RIGHT = """import * as tern from "tern-web";

export async function classify(bytes: Uint8Array, pixels: Float32Array): Promise<number> {
  const model = await tern.loadModel(bytes, await tern.init());
  const results = model.run({ [model.inputs[0].name]: pixels });
  const values = await results[model.outputs[0].name].data();
  return values.length;
}
"""
WRONG = {"a name that there is not": 'import { nothing } from "tern-web"; nothing();',
         "an argument of another type": 'import * as tern from "tern-web"; export const model = tern.loadModel(7);'}


def run(command, folder, **options):
    return subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True, check=False, **options)


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def pack(npm, folder):
    done = run([npm, "pack", "--json", "--pack-destination", folder], WEB, env=os.environ | {"npm_config_cache": str(folder / "cache")})
    expect(done.returncode == 0, done.stderr)
    return folder / json.loads(done.stdout)[0]["filename"]


def check_files(package):
    """What modules import is there, and nothing of the tests or the demo."""
    files = {str(path.relative_to(package)) for path in package.rglob("*") if path.is_file()}
    expect({"package.json", "tern.js", "tern.d.ts", "global.js"} <= files, files)
    expect(not any(name.startswith(("test", "demo")) for name in files), files)
    for name in files:
        for target in re.findall(r'(?:from|import)\s*\(?"(\./[^"]+|\.\./[^"]+)"', (package / name).read_text(encoding="utf-8")):
            found = (package / name).parent / target
            expect(found.is_file(), f"{name} imports {target}, which is not in the package")
    print(f"{len(files)} files")


def check_types(tsc, folder):
    def compiled(text):
        (folder / "use.ts").write_text(text, encoding="utf-8")
        return run([tsc, "--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom", "--skipLibCheck", "false", "use.ts"], folder)

    done = compiled(RIGHT)
    expect(done.returncode == 0, f"a right program is refused: {done.stdout}")
    for what, text in WRONG.items():
        expect(compiled(text).returncode != 0, f"{what} is accepted")
    print("types: a right program is taken, wrong ones are refused")


def main():
    npm, node, tsc = shutil.which("npm"), shutil.which("node"), os.environ.get("TSC") or shutil.which("tsc")
    if not npm or not node:
        print("SKIPPED: there is no npm")
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        with tarfile.open(pack(npm, folder)) as archive:
            archive.extractall(folder / "unpacked", filter="data")
        (folder / "node_modules").mkdir()
        package = (folder / "unpacked" / "package").rename(folder / "node_modules" / "tern-web")
        (folder / "package.json").write_text('{"type": "module"}', encoding="utf-8")
        check_files(package)
        done = run([node, "--input-type=module", "-e", 'import * as tern from "tern-web"; console.log(Object.keys(tern).sort().join(" "));'], folder)
        expect(done.returncode == 0 and {"init", "load", "loadModel"} <= set(done.stdout.split()), done.stdout + done.stderr)
        print(f"exports: {done.stdout.strip()}")
        if tsc:
            check_types(tsc, folder)
        else:
            print("types are not checked: there is no tsc (npm install -g typescript)")
    return 0


if __name__ == "__main__":
    sys.exit(main())

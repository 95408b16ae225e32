#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a site of the documentation: static pages with a search, for a browser without a network.

    tools/docs_site/build_site.py build/docs

The pages are README.md, all of docs/ and what Markdown these link to. docs/README.md is the map: its headings and
tables are the navigation. A link that leads nowhere is an error.
"""
import html
import json
import os
import pathlib
import posixpath
import re
import shutil
import sys

import render_markdown

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HERE = pathlib.Path(__file__).resolve().parent
MAP = "docs/README.md"


def url_of(source):
    """Where the page of a Markdown file is: docs/tir.md -> tir.html, README.md -> index.html."""
    if source == MAP:
        return "map.html"
    path = source.removeprefix("docs/")
    if path.endswith("README.md"):
        return path.removesuffix("README.md") + "index.html"
    return path.removesuffix(".md") + ".html"


class Site:
    def __init__(self, output):
        self.output = pathlib.Path(output)
        self.pages = {}  # path of the Markdown file -> render_markdown.Page
        self.files = set()  # other files that pages show or link to
        self.links = []  # (from, to, anchor)
        self.problems = []

    def read(self):
        todo = ["README.md", *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))]
        while todo:
            source = todo.pop()
            if source in self.pages:
                continue
            self.pages[source] = render_markdown.Page((ROOT / source).read_text(), lambda link, source=source: self.resolve(source, link))
            todo += [to for _, to, _ in self.links if to not in self.pages]
        for source, to, anchor in self.links:
            if anchor and anchor not in {name for _, name, _ in self.pages[to].headings}:
                self.problems.append(f"{source}: {to} has no heading #{anchor}")

    def resolve(self, source, link):
        """The link of a Markdown file as one of its page."""
        if re.match(r"[a-z]+:", link):
            return link
        path, _, anchor = link.partition("#")
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), path)) if path else source
        if target.startswith("..") or not (ROOT / target).exists():
            self.problems.append(f"{source}: the link {link} leads nowhere")
            return link
        if target.endswith(".md"):
            self.links.append((source, target, anchor))
            to = url_of(target)
        elif (ROOT / target).is_dir():
            # A folder of sources has no page; its path says enough.
            return "#"
        else:
            self.files.add(target)
            to = "files/" + target
        relative = posixpath.relpath(to, posixpath.dirname(url_of(source)) or ".")
        return relative + (f"#{anchor}" if anchor else "")

    def title(self, source):
        headings = self.pages[source].headings
        return headings[0][2] if headings else source

    def navigation(self):
        """[(group, [path of a Markdown file])], from the map."""
        groups = []
        for line in (ROOT / MAP).read_text().splitlines():
            if line.startswith("## "):
                groups.append((line[3:], []))
            match = re.match(r"\| \[[^\]]*\]\(([^)#]+)\)", line)
            if match and groups:
                groups[-1][1].append(posixpath.normpath(posixpath.join("docs", match.group(1))))
        named = {source for _, sources in groups for source in sources}
        self.problems += [f"{MAP} does not name {source}" for source in sorted(self.pages)
                          if source.startswith("docs/") and source not in named and source != MAP]
        return groups

    def write(self):
        groups = self.navigation()
        if self.problems:
            return
        if self.output.exists():
            shutil.rmtree(self.output)
        template = (HERE / "page.html").read_text()
        for source, page in self.pages.items():
            self.write_page(template, groups, source, page)
        for name in ("site.css", "site.js"):
            shutil.copy(HERE / name, self.output / name)
        for path in sorted(self.files):
            (self.output / "files" / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, self.output / "files" / path)
        self.write_index()

    def write_page(self, template, groups, source, page):
        url = url_of(source)
        up = posixpath.relpath(".", posixpath.dirname(url) or ".") + "/"
        up = "" if up == "./" else up

        def entry(to):
            here = ' aria-current="page"' if to == source else ""
            return f'<li><a href="{up}{url_of(to)}"{here}>{html.escape(self.title(to))}</a></li>'

        nav = "\n".join(f"<h2>{html.escape(group)}</h2><ul>{''.join(entry(to) for to in sources)}</ul>" for group, sources in groups)
        inner = [heading for heading in page.headings if heading[0] in (2, 3)]
        contents = "".join(f'<li class="h{level}"><a href="#{anchor}">{html.escape(text)}</a></li>' for level, anchor, text in inner)
        fields = {
            "TITLE": html.escape(self.title(source) + ("" if source == "README.md" else " - Tern")),
            "UP": up,
            "NAV": nav,
            "CONTENTS": f'<nav class="contents" aria-label="on this page"><h2>On this page</h2><ul>{contents}</ul></nav>' if len(inner) > 1 else "",
            "BODY": page.html,
            "SOURCE": html.escape(source),
            "ORDER": self.neighbours(groups, source, up),
        }
        file = self.output / url
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(re.sub(r"\{\{(\w+)\}\}", lambda match: fields[match.group(1)], template))

    def neighbours(self, groups, source, up):
        order = [to for _, sources in groups for to in sources]
        if source not in order:
            return ""
        at = order.index(source)
        parts = []
        for place, name in ((at - 1, "before"), (at + 1, "next")):
            if 0 <= place < len(order):
                to = order[place]
                parts.append(f'<a class="{name}" href="{up}{url_of(to)}"><small>{name}</small>{html.escape(self.title(to))}</a>')
        return "".join(parts)

    def write_index(self):
        """What is searched: a script, since pages that are opened as files may not fetch others."""
        entries = []
        for source, page in sorted(self.pages.items()):
            for anchor, heading, texts in page.sections:
                text = re.sub(r"\s+", " ", " ".join(texts)).strip()
                if heading or text:
                    entries.append([url_of(source) + (f"#{anchor}" if anchor else ""), self.title(source), heading, text])
        (self.output / "search_index.js").write_text("window.TERN_SEARCH = " + json.dumps(entries, ensure_ascii=False, separators=(",", ":")) + ";\n")


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    site = Site(sys.argv[1])
    site.read()
    site.write()
    for problem in sorted(set(site.problems)):
        print(problem, file=sys.stderr)
    if site.problems:
        return 1
    size = sum(path.stat().st_size for path in site.output.rglob("*") if path.is_file())
    print(f"{os.path.relpath(site.output)}: {len(site.pages)} pages, {size // 1024} KB")
    return 0


if __name__ == "__main__":
    sys.exit(main())

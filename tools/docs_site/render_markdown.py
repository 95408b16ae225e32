# SPDX-License-Identifier: Apache-2.0
"""Markdown to HTML: the part of CommonMark that the pages of this project use, with tables.

Headings, paragraphs, lists in lists, tables, quotes, fenced and indented code, images, links, emphasis, code. What is
not understood is text: no page can put HTML into the site.
"""
import html
import re

import highlight_code


def slug(heading):
    """The anchor of a heading, as GitHub makes it: "## `x`: A b" -> "x-a-b"."""
    text = re.sub(r"[`*]|\]\([^)]*\)|\[", "", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def plain(text):
    """Inline Markdown without its signs."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"[`*]", "", text)


class Page:
    """The HTML of a page, its headings as (level, anchor, text), and its sections as (anchor, heading, text)."""

    def __init__(self, text, resolve):
        self.resolve = resolve
        self.headings = []
        self.sections = [("", "", [])]
        self._anchors = {}
        self.html = self._blocks(text.expandtabs(4).splitlines())

    # ---- blocks

    def _blocks(self, lines):
        out, i = [], 0
        while i < len(lines):
            if not lines[i].strip():
                i += 1
                continue
            for reader in (self._fence, self._code, self._heading, self._rule, self._table, self._quote, self._list, self._paragraph):
                result = reader(lines, i)
                if result:
                    block, i = result
                    out.append(block)
                    break
        return "\n".join(out)

    def _fence(self, lines, i):
        match = re.match(r" {0,3}(```+|~~~+) *(\w*)", lines[i])
        if not match:
            return None
        indent = len(lines[i]) - len(lines[i].lstrip())
        end = i + 1
        while end < len(lines) and not lines[end].strip().startswith(match.group(1)):
            end += 1
        return self._code_block([line[indent:] if not line[:indent].strip() else line for line in lines[i + 1:end]], match.group(2)), end + 1

    def _code(self, lines, i):
        if not lines[i].startswith("    "):
            return None
        end = last = i
        while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
            if lines[end].strip():
                last = end
            end += 1
        return self._code_block([line[4:] for line in lines[i:last + 1]], ""), last + 1

    def _code_block(self, lines, language):
        text = "\n".join(lines)
        self._remember(text)
        language = language or highlight_code.guess(text)
        return f'<div class="code"><button class="copy" type="button">copy</button><pre><code>{highlight_code.to_html(text, language)}</code></pre></div>'

    def _heading(self, lines, i):
        match = re.match(r"(#{1,6}) +(.*?) *#*$", lines[i])
        if not match:
            return None
        level, text = len(match.group(1)), match.group(2)
        anchor = slug(text)
        count = self._anchors[anchor] = self._anchors.get(anchor, -1) + 1
        if count:
            anchor += f"-{count}"
        self.headings.append((level, anchor, plain(text)))
        self.sections.append((anchor, plain(text), []))
        link = f'<a class="anchor" href="#{anchor}" aria-label="link to this section">#</a>' if level > 1 else ""
        return f'<h{level} id="{anchor}">{self._inline(text)}{link}</h{level}>', i + 1

    def _rule(self, lines, i):
        return ("<hr>", i + 1) if re.fullmatch(r" {0,3}([-*_] *){3,}", lines[i]) else None

    def _table(self, lines, i):
        if i + 1 >= len(lines) or not lines[i].lstrip().startswith("|") or not re.fullmatch(r"[ |:-]+", lines[i + 1].strip()):
            return None
        end = i + 2
        while end < len(lines) and lines[end].lstrip().startswith("|"):
            end += 1
        aligns = ["right" if cell.strip().endswith(":") else "" for cell in cells(lines[i + 1])]

        def row(line, tag):
            out = []
            for index, cell in enumerate(cells(line)):
                style = ' class="right"' if index < len(aligns) and aligns[index] else ""
                out.append(f"<{tag}{style}>{self._inline(cell.strip())}</{tag}>")
            return "<tr>" + "".join(out) + "</tr>"

        head = row(lines[i], "th") if any(cell.strip() for cell in cells(lines[i])) else ""
        body = "\n".join(row(line, "td") for line in lines[i + 2:end])
        for line in lines[i:end]:
            self._remember(plain(line.replace("|", " ")))
        return f'<div class="table"><table>{f"<thead>{head}</thead>" if head else ""}<tbody>{body}</tbody></table></div>', end

    def _quote(self, lines, i):
        if not lines[i].startswith(">"):
            return None
        end = i
        while end < len(lines) and lines[end].startswith(">"):
            end += 1
        return f"<blockquote>{self._blocks([re.sub('^> ?', '', line) for line in lines[i:end]])}</blockquote>", end

    def _list(self, lines, i):
        mark = re.compile(r"( {0,3})([-*+]|\d+[.)])( +)")
        first = mark.match(lines[i])
        if not first:
            return None
        tag = "ol" if first.group(2)[0].isdigit() else "ul"
        items, loose = [], False
        while i < len(lines):
            match = mark.match(lines[i])
            if not match or ("ol" if match.group(2)[0].isdigit() else "ul") != tag:
                break
            indent = len(match.group(0))
            item = [lines[i][indent:]]
            i += 1
            while i < len(lines):
                is_inner = not lines[i][:indent].strip() and (lines[i].strip() or (i + 1 < len(lines) and lines[i + 1].startswith(" " * indent)))
                # A line that goes on with the paragraph may stand further left.
                is_lazy = lines[i].strip() and item[-1].strip() and not mark.match(lines[i]) and not re.match(r"#|\||```|>", lines[i])
                if not is_inner and not is_lazy:
                    break
                item.append(lines[i][indent:] if is_inner else lines[i].strip())
                i += 1
            if i < len(lines) and not lines[i].strip() and i + 1 < len(lines) and mark.match(lines[i + 1]):
                loose = True
                i += 1
            items.append(item)
        out = []
        for item in items:
            body = self._blocks(item)
            if not loose:
                body = re.sub(r"^<p>(.*?)</p>", r"\1", body, count=1, flags=re.S)
            out.append(f"<li>{body}</li>")
        return f"<{tag}>" + "\n".join(out) + f"</{tag}>", i

    def _paragraph(self, lines, i):
        end = i + 1
        while end < len(lines) and lines[end].strip() and not re.match(r"#{1,6} |```|~~~|> |\||( {0,3})([-*+]|\d+[.)]) ", lines[end]):
            end += 1
        text = "\n".join(line.strip() for line in lines[i:end])
        self._remember(plain(text))
        return f"<p>{self._inline(text)}</p>", end

    def _remember(self, text):
        self.sections[-1][2].append(text)

    # ---- inside a line

    def _inline(self, text):
        # Code first: nothing else means anything in it. What is made is set aside, and put in at the end.
        kept = []

        def keep(markup):
            kept.append(markup)
            return f"\0{len(kept) - 1}\0"

        text = re.sub(r"(`+) ?(.+?) ?(?<!`)\1(?!`)", lambda m: keep(f"<code>{html.escape(m.group(2), quote=False)}</code>"), text, flags=re.S)
        text = re.sub(r"\\([\\`*_{}\[\]()#+.!|<>-])", lambda m: keep(html.escape(m.group(1))), text)
        text = re.sub(r"!\[([^\]]*)\]\(([^)\s]+)\)", lambda m: keep(
            f'<img src="{html.escape(self.resolve(m.group(2)))}" alt="{html.escape(m.group(1))}">'), text)
        text = re.sub(r"\[((?:[^\[\]])*)\]\(([^)\s]+)\)", lambda m: keep(f'<a href="{html.escape(self.resolve(m.group(2)))}">') +
                      m.group(1) + keep("</a>"), text)
        text = re.sub(r"<(https?://[^>\s]+)>", lambda m: keep(f'<a href="{html.escape(m.group(1))}">{html.escape(m.group(1))}</a>'), text)
        text = html.escape(text, quote=False)
        text = re.sub(r"\*\*(?=\S)(.+?)(?<=\S)\*\*", r"<strong>\1</strong>", text, flags=re.S)
        text = re.sub(r"(?<![\w*])\*(?=[^\s*])(.+?)(?<=[^\s*])\*(?![\w*])", r"<em>\1</em>", text, flags=re.S)
        while "\0" in text:
            text = re.sub("\0(\\d+)\0", lambda m: kept[int(m.group(1))], text)
        return text


def cells(line):
    """The cells of a table's row; a | in code or behind a backslash does not end one."""
    parts = re.findall(r"(?:\\\||`[^`]*`|[^|`])+|(?<=\|)(?=\|)|`", line.strip().strip("|") if line.strip() != "||" else "")
    return [part.replace("\\|", "|") for part in parts] if parts else [""]

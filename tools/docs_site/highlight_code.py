# SPDX-License-Identifier: Apache-2.0
"""Colours for code: comments, strings, numbers and the words of a language. Enough to read by."""
import html
import re

TIR_WORDS = """alloc assert at attrs block bind buffer const constants else extern false for func graph if in inf init
kernel launch let nan opaque parallel reads reduce return scan schedule scope spatial strides true unrolled vectorized where
while writes""".split()
TIR_TYPES = r"\b(?:bool|u?int(?:8|16|32|64)|float(?:8_e4m3fn|8_e5m2|16|32|64)|bfloat16|handle)(?:x(?:vscalex)?\d+)?\b"
CPP_WORDS = """auto bool break case catch char class const constexpr continue default delete do double else enum explicit
extern false float for if include inline int int64_t long namespace new nullptr operator override private protected
public return size_t sizeof static std string struct switch template this throw true try typedef typename uint8_t
uint64_t using vector virtual void while""".split()
PYTHON_WORDS = """and as assert async await break class continue def del elif else except False finally for from global if
import in is lambda None nonlocal not or pass raise return True try while with yield""".split()
JS_WORDS = "async await class const else export for from function if import let new of return true false null undefined".split()
SHELL_WORDS = "if then else fi for do done while case esac export cd".split()

# Per language: where a comment starts, its words, and what its types look like.
LANGUAGES = {
    "tir": (r"#[^\n]*", TIR_WORDS, TIR_TYPES),
    "cpp": (r"//[^\n]*|/\*.*?\*/", CPP_WORDS, r"(?!)"),
    "c": (r"//[^\n]*|/\*.*?\*/", CPP_WORDS, r"(?!)"),
    "python": (r"#[^\n]*", PYTHON_WORDS, r"(?!)"),
    "js": (r"//[^\n]*|/\*.*?\*/", JS_WORDS, r"(?!)"),
    "sh": (r"(?<![\w$\"'-])#(?= )[^\n]*", SHELL_WORDS, r"(?<![\w-])--?[a-z][\w-]*"),
    "json": (r"(?!)", ["true", "false", "null"], r"(?!)"),
    "text": None,
}
ALIASES = {"bash": "sh", "shell": "sh", "console": "sh", "py": "python", "c++": "cpp", "cc": "cpp", "javascript": "js", "cmake": "sh"}


def guess(text):
    """The language of a block that does not say it."""
    if re.search(r"^ *(func|graph|schedule|block|for|alloc|extern kernel|constants)\b.*\{|^ *(let \w+ = |\w+\[.*\] = )", text, re.M) and ";" not in text:
        return "tir"
    if re.search(r"^ *(import \* as|const |await )|=> ", text, re.M):
        return "js"
    if re.search(r";\s*(//.*)?$|^#include|^ *\w+::", text, re.M):
        return "cpp"
    if re.search(r"^ *(\$ |\./dev|tern[ -]|cmake |python3 |build/|export |apt|pip |node |qemu|find_package|cd )", text, re.M):
        return "sh"
    if re.search(r"^ *(import |from \w+ import|def )", text, re.M):
        return "python"
    return "text"


def to_html(text, language):
    """Code as HTML; a language that is not known has no colours."""
    rules = LANGUAGES.get(ALIASES.get(language, language))
    if not rules:
        return html.escape(text, quote=False)
    comment, words, types = rules
    pattern = re.compile(
        rf"(?P<c>{comment})|(?P<s>\"(?:\\.|[^\"\\\n])*\"|(?<!\w)'(?:\\.|[^'\\\n])*')|(?P<t>{types})|"
        rf"(?P<k>\b(?:{'|'.join(words)})\b)|(?P<n>(?<![\w.])\d\w*(?:\.\d\w*)?)", re.S)
    out, end = [], 0
    for match in pattern.finditer(text):
        out.append(html.escape(text[end:match.start()], quote=False))
        out.append(f'<span class="{match.lastgroup}">{html.escape(match.group(0), quote=False)}</span>')
        end = match.end()
    out.append(html.escape(text[end:], quote=False))
    return "".join(out)

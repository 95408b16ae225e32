// SPDX-License-Identifier: Apache-2.0
//
// The search, the menu of narrow screens, light and dark, and the buttons that copy code.
"use strict";

const input = document.getElementById("search");
const results = document.getElementById("results");
const most = 12;

function loadIndex() {
  if (window.TERN_SEARCH || document.getElementById("index")) return;
  const script = document.createElement("script");
  script.id = "index";
  script.src = window.TERN_UP + "search_index.js";
  script.onload = () => search(input.value);
  document.head.append(script);
}

// How well a section answers: every word must be in it; words in headings and titles count more than those in its text.
function score([, title, heading, text], words) {
  const fields = [[heading.toLowerCase(), 12], [title.toLowerCase(), 8], [text.toLowerCase(), 1]];
  let sum = 0;
  for (const word of words) {
    let best = 0;
    for (const [field, weight] of fields) {
      const at = field.indexOf(word);
      if (at < 0) continue;
      const starts = at === 0 || !/[\w]/.test(field[at - 1]);
      best = Math.max(best, weight * (starts ? 2 : 1) * (field === word ? 2 : 1));
    }
    if (best === 0) return 0;
    sum += best;
  }
  return sum;
}

function marked(text, words) {
  const piece = document.createElement("span");
  const pattern = new RegExp("(" + words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|") + ")", "gi");
  for (const part of text.split(pattern)) {
    const is_word = words.includes(part.toLowerCase());
    const node = is_word ? document.createElement("mark") : document.createTextNode(part);
    if (is_word) node.textContent = part;
    piece.append(node);
  }
  return piece;
}

function excerpt(text, words) {
  const at = Math.max(0, text.toLowerCase().indexOf(words[0]));
  const start = at < 60 ? 0 : text.indexOf(" ", at - 50) + 1;
  return (start ? "… " : "") + text.slice(start, start + 150) + (text.length > start + 150 ? " …" : "");
}

function search(query) {
  const words = query.toLowerCase().split(/\s+/).filter((word) => word);
  results.hidden = words.length === 0 || !window.TERN_SEARCH;
  results.replaceChildren();
  if (results.hidden) return;
  const found = window.TERN_SEARCH.map((entry) => [score(entry, words), entry]).filter(([value]) => value > 0);
  found.sort((a, b) => b[0] - a[0]);
  for (const [, [url, title, heading, text]] of found.slice(0, most)) {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = window.TERN_UP + url;
    const where = document.createElement("strong");
    where.append(marked(heading && heading !== title ? title + " › " + heading : title, words));
    const what = document.createElement("small");
    what.append(marked(excerpt(text, words), words));
    link.append(where, what);
    item.append(link);
    results.append(item);
  }
  if (found.length === 0) {
    const item = document.createElement("li");
    item.className = "none";
    item.textContent = "Nothing has all of these words.";
    results.append(item);
  }
}

input.addEventListener("focus", loadIndex);
input.addEventListener("input", () => { loadIndex(); search(input.value); });
document.addEventListener("keydown", (event) => {
  const typing = /^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName);
  if (event.key === "/" && !typing) {
    event.preventDefault();
    input.focus();
  } else if (event.key === "Escape") {
    results.hidden = true;
    input.blur();
  } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && !results.hidden) {
    const links = [...results.querySelectorAll("a")];
    const at = links.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
    event.preventDefault();
    (links[at] || input).focus();
  } else if (event.key === "Enter" && document.activeElement === input && results.querySelector("a")) {
    location.href = results.querySelector("a").href;
  }
});
document.addEventListener("click", (event) => {
  if (!event.target.closest(".search") || event.target.closest("#results a")) results.hidden = true;
});

const menu = document.getElementById("menu");
menu.addEventListener("click", () => {
  const open = document.body.classList.toggle("menu");
  menu.setAttribute("aria-expanded", String(open));
  if (open) document.getElementById("pages").scrollTop = 0;
});

document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const is_dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = is_dark ? "light" : "dark";
  localStorage.setItem("tern-theme", root.dataset.theme);
});

for (const button of document.querySelectorAll(".copy")) {
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
    button.textContent = "copied";
    setTimeout(() => { button.textContent = "copy"; }, 1200);
  });
}

// The heading that is being read.
const entries = new Map([...document.querySelectorAll(".contents a")].map((link) => [link.hash.slice(1), link]));
const observer = new IntersectionObserver((seen) => {
  for (const { target, isIntersecting } of seen) {
    if (!isIntersecting || !entries.has(target.id)) continue;
    for (const link of entries.values()) link.classList.toggle("here", link === entries.get(target.id));
  }
}, { rootMargin: "-70px 0px -70% 0px" });
for (const heading of document.querySelectorAll("main h2, main h3")) observer.observe(heading);
document.querySelector(".pages [aria-current]")?.scrollIntoView({ block: "center" });

/**
 * Markdown as page elements, without HTML in between.
 *
 * A lexer splits the text into tokens and this file builds an element for each kind it knows, by createElement and text only.
 * So a model's HTML is text like any other and a link can only lead to the web or a mailbox: there is no innerHTML to
 * protect. What is unknown, or nested beyond reason, is shown as the text it is.
 */
import { lexer } from "./vendor/marked.esm.js";

const DEEPEST = 20; // levels of quotes and lists; no reader follows more, and each costs a call of this file
const LINK = /^(https?:|mailto:)/i;
const ENTITIES = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'", "&nbsp;": "\u00a0" };
const ENTITY = new RegExp(Object.keys(ENTITIES).join("|"), "g");

/** The blocks of a text that may still grow: `update` touches only those that changed, `finish` makes all anew. */
export class MarkdownView {
  #blocks = []; // {raw, node} in order

  constructor(element) {
    this.element = element;
  }

  update(text) {
    const tokens = tokensOf(text);
    const same = tokens.findIndex((token, at) => token.raw !== this.#blocks[at]?.raw);
    const keep = same < 0 ? tokens.length : same;
    for (const { node } of this.#blocks.splice(keep)) node.remove();
    for (const token of tokens.slice(keep)) {
      const node = block(token, 0);
      this.#blocks.push({ raw: token.raw, node });
      this.element.append(node);
    }
  }

  /** A definition at the end may change a link at the start, which `update` does not see. */
  finish(text) {
    this.#blocks = [];
    this.element.replaceChildren();
    this.update(text);
  }
}

function tokensOf(text) {
  try {
    return lexer(text).filter((token) => token.type !== "space" && token.type !== "def");
  } catch {
    return [{ type: "plain", raw: text, text }];
  }
}

function block(token, depth) {
  if (depth > DEEPEST) return element("p", token.raw);
  switch (token.type) {
    case "heading":
      return element(`h${Math.min(6, token.depth + 2)}`, ...inline(token.tokens, depth)); // h1 and h2 are the page's
    case "paragraph":
      return element("p", ...inline(token.tokens, depth));
    case "text":
      return element("p", ...inline(token.tokens ?? [token], depth));
    case "code":
      return codeBlock(token);
    case "blockquote":
      return element("blockquote", ...token.tokens.filter(shown).map((child) => block(child, depth + 1)));
    case "list":
      return list(token, depth);
    case "table":
      return table(token, depth);
    case "hr":
      return element("hr");
    default:
      return element("p", token.raw);
  }
}

function codeBlock(token) {
  const pre = element("pre", element("code", token.text));
  pre.tabIndex = 0; // wide code scrolls, and a keyboard must reach what scrolls
  return pre;
}

function list(token, depth) {
  const node = element(token.ordered ? "ol" : "ul");
  if (token.ordered && token.start !== 1) node.start = token.start;
  for (const item of token.items) node.append(listItem(item, depth));
  return node;
}

function listItem(item, depth) {
  const node = element("li");
  if (item.task) node.append(item.checked ? "☑ " : "☐ ");
  for (const child of item.tokens.filter(shown)) {
    if (child.type === "text" && !item.loose) node.append(...inline(child.tokens ?? [child], depth + 1));
    else node.append(block(child, depth + 1));
  }
  return node;
}

function table(token, depth) {
  const row = (cells, name) => element("tr", ...cells.map((cell) => aligned(element(name, ...inline(cell.tokens, depth)), cell)));
  const head = element("thead", row(token.header, "th"));
  const body = element("tbody", ...token.rows.map((cells) => row(cells, "td")));
  const wrapper = element("div", element("table", head, body));
  wrapper.className = "table";
  wrapper.tabIndex = 0;
  return wrapper;
}

function aligned(cell, { align }) {
  if (align === "right" || align === "center") cell.className = `align-${align}`;
  return cell;
}

function inline(tokens, depth) {
  return tokens.filter(shown).flatMap((token) => (depth > DEEPEST ? [token.raw] : inlineNodes(token, depth + 1)));
}

function inlineNodes(token, depth) {
  switch (token.type) {
    case "text":
    case "escape":
      return token.tokens ? inline(token.tokens, depth) : [token.text.replace(ENTITY, (written) => ENTITIES[written])];
    case "strong":
    case "em":
    case "del":
      return [element(token.type, ...inline(token.tokens, depth))];
    case "codespan":
      return [element("code", token.text)];
    case "br":
      return [element("br")];
    case "link":
      return [link(token, depth)];
    default:
      return [token.raw]; // HTML and images too: a picture's address would tell somebody that it was read
  }
}

function link(token, depth) {
  if (!LINK.test(token.href)) return token.raw;
  const node = element("a", ...inline(token.tokens, depth));
  node.href = token.href;
  node.target = "_blank";
  node.rel = "noopener noreferrer nofollow";
  return node;
}

function shown(token) {
  return token.type !== "space" && token.type !== "def" && token.type !== "checkbox";
}

function element(name, ...children) {
  const node = document.createElement(name);
  node.append(...children);
  return node;
}

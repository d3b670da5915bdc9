"""Markdown on the page (REQ-U12): a closed set of elements, no HTML of anybody else's, however the text arrives."""

from typing import Any

import pytest
from playwright.async_api import Page

pytestmark = pytest.mark.asyncio(loop_scope="session")

RENDER = """async (steps) => {
    const { MarkdownView } = await import("./markdown.js");
    const view = new MarkdownView(document.createElement("div"));
    steps.slice(0, -1).forEach((text) => view.update(text));
    view.finish(steps.at(-1));
    return view.element.innerHTML;
}"""

LONG = """# Head

One *two* **three** `four & <five>` ~~six~~ [seven](https://example.org/?a=1&b=2 "t").

1. a
2. b
   - c

> quote

| x | y |
|---|--:|
| 1 | 2 |

```py
if a < b: pass
```

[ref]: https://example.org/ref
A [ref] & the end.
"""


WRITTEN = {
    "": "",
    "# A & B": "<h3>A &amp; B</h3>",
    "a **b** *c* ~~d~~ `e`": "<p>a <strong>b</strong> <em>c</em> <del>d</del> <code>e</code></p>",
    "an **unterminated mark": "<p>an **unterminated mark</p>",
    "an `unterminated mark": "<p>an `unterminated mark</p>",
    "```\nx < y": '<pre tabindex="0"><code>x &lt; y</code></pre>',
    "- a\n- [x] b": "<ul><li>a</li><li>☑ b</li></ul>",
    "3. a\n4. b": '<ol start="3"><li>a</li><li>b</li></ol>',
    "one  \ntwo": "<p>one<br>two</p>",
    "---": "<hr>",
    "&lt;b&gt; &amp; \\*": "<p>&lt;b&gt; &amp; *</p>",
    "<b onclick=x>hi</b>": "<p>&lt;b onclick=x&gt;hi&lt;/b&gt;</p>",
    "<script>alert(1)</script>": "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>",
    "<img src=x onerror=alert(1)>": "<p>&lt;img src=x onerror=alert(1)&gt;</p>",
    "![p](https://example.org/p.png)": "<p>![p](https://example.org/p.png)</p>",
    "[x](javascript:alert(1))": "<p>[x](javascript:alert(1))</p>",
    "[x](data:text/html,y)": "<p>[x](data:text/html,y)</p>",
    "[x](/api/chat)": "<p>[x](/api/chat)</p>",
    "[x](https://example.org)": '<p><a href="https://example.org" target="_blank" rel="noopener noreferrer nofollow">x</a></p>',
}


async def render(page: Page, *texts: str) -> Any:
    return await page.evaluate(RENDER, list(texts))


async def test_a_text_becomes_these_elements_and_no_others(page: Page) -> None:
    assert {text: await render(page, text) for text in WRITTEN} == WRITTEN


async def test_how_a_text_arrives_makes_no_difference(page: Page) -> None:
    whole = await render(page, LONG)

    assert await render(page, *(LONG[:end] for end in range(1, len(LONG) + 1))) == whole
    assert "<a href=" in whole
    assert 'class="align-right"' in whole


async def test_a_withdrawn_text_leaves_nothing(page: Page) -> None:
    assert await render(page, "one\n\ntwo\n\nthree", "one\n\n2", "1") == "<p>1</p>"


async def test_endless_nesting_is_cut_off_as_text(page: Page) -> None:
    shown = await render(page, "> " * 5_000 + "deep")

    assert "deep" in shown
    assert shown.count("<blockquote>") <= 21

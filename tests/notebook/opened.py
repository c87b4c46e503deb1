"""A page in a browser, what goes wrong while it is opened, and who could not use it."""

from axe_playwright_python.sync_playwright import Axe

NOTEBOOK = {
    "a page of nobody's": '<body style="color:#111;background:#fff">',
    "a dark page of nobody's": '<body style="color:#ddd;background:#111">',
    "JupyterLab": '<body data-jp-theme-light="true" style="color:#212121;background:#fff">',
    "JupyterLab, dark": '<body data-jp-theme-light="false" style="color:#e0e0e0;background:#111">',
}
"""What a card may stand in."""


def opened(browser, path, width=1200, theme="light"):
    """The page, and what went wrong while it was opened with the network off."""
    trouble = []
    context = browser.new_context(
        viewport={"width": width, "height": 900}, offline=True, color_scheme=theme
    )
    page = context.new_page()
    page.on(
        "console",
        lambda message: (
            trouble.append(message.text)
            if message.type in ("error", "warning")
            else None
        ),
    )
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on(
        "request",
        lambda request: (
            None
            if request.url.startswith(("file:", "data:"))
            else trouble.append(request.url)
        ),
    )
    page.goto(f"file://{path}")
    return page, trouble


def violations(page, part=None, rules=()):
    """What axe finds on a page or a part of it, every fold open: rule, how many places, and the first."""
    page.evaluate(
        "document.querySelectorAll('details').forEach(item => { item.open = true; })"
    )
    only = {"runOnly": {"type": "rule", "values": list(rules)}} if rules else {}
    found = (
        Axe()
        .run(page, part, {"resultTypes": ["violations"], **only})
        .response["violations"]
    )
    return [
        (item["id"], len(item["nodes"]), item["nodes"][0]["html"][:200])
        for item in found
    ]


def card_violations(browser, html, host):
    """What axe finds on a card in a notebook of this kind; and what the page asked for outside itself."""
    context = browser.new_context(viewport={"width": 900, "height": 900}, offline=True)
    page, requests = context.new_page(), []
    page.on("request", lambda request: requests.append(request.url))
    head = '<!DOCTYPE html><html lang="en"><head><title>A notebook</title></head>'
    page.set_content(
        f"{head}{NOTEBOOK[host]}<main><h1>A notebook</h1>{html}</main></body></html>"
    )
    found = [*violations(page), *requests]
    wide = page.evaluate("document.documentElement.scrollWidth")
    context.close()
    return found + ([f"is {wide} wide"] if wide > 900 else [])

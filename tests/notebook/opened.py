"""A page in a browser, and what goes wrong while it is opened."""


def opened(browser, path, width=1200):
    """The page, and what went wrong while it was opened with the network off."""
    trouble = []
    context = browser.new_context(viewport={"width": width, "height": 900}, offline=True)
    page = context.new_page()
    page.on(
        "console",
        lambda message: trouble.append(message.text) if message.type in ("error", "warning") else None,
    )
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on(
        "request",
        lambda request: None if request.url.startswith(("file:", "data:")) else trouble.append(request.url),
    )
    page.goto(f"file://{path}")
    return page, trouble

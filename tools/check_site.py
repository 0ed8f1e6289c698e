"""Check the layout and the links of each page of the built documentation.

    pip install playwright
    python tools/check_site.py doc/_build/html --browser /usr/bin/chromium

The script opens the pages in a browser. It prints pages that scroll horizontally at a
width of 390 pixels, tables and code that are cut at 1,400 pixels, and broken links. The
exit status is an error if there are any.
"""

import argparse
import sys
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

from playwright.sync_api import sync_playwright

PHONE, DESK = 390, 1400
# Links of pages and of SVG figures, as complete addresses.
LINKS = "main a[href], main svg a"
HREFS = """elements => elements.map(
    e => typeof e.href === "string" ? e.href
        : new URL(e.href.baseVal, document.baseURI).href)"""
CUT = """elements => elements
    .filter(e => e.scrollWidth > e.clientWidth + 1)
    .map(e => e.innerText.slice(0, 40).replaceAll("\\n", " "))"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--browser", help="path of a Chromium")
    arguments = parser.parse_args()
    pages = sorted(arguments.folder.glob("**/*.html"))
    # Exclude source code, and pages that run in a browser.
    pages = [page for page in pages if not {"_modules", "lite"} & set(page.parts)]
    faults, places, links = [], {}, {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=arguments.browser, args=["--no-sandbox"]
        )
        tab = browser.new_page()
        for page in pages:
            name = str(page.relative_to(arguments.folder))
            faults += [f"{name}: {fault}" for fault in faults_of(tab, page)]
            places[page.resolve()] = set(
                tab.eval_on_selector_all("[id]", "all => all.map(e => e.id)")
            )
            links[name] = tab.eval_on_selector_all(LINKS, HREFS)
        browser.close()
    faults += broken(links, places)
    print(*faults, sep="\n")
    print(f"{len(pages)} pages, {len(faults)} faults")
    sys.exit(bool(faults))


def faults_of(tab, page):
    """Elements that do not fit on a page; the page stays open in the tab."""
    tab.set_viewport_size({"width": PHONE, "height": 800})
    tab.goto(page.resolve().as_uri())
    width = tab.evaluate("document.documentElement.scrollWidth")
    if width > PHONE:
        yield f"{width} pixels wide at {PHONE}"
    for text in tab.eval_on_selector_all(".bd-article-container", CUT):
        yield f"scrolls sideways at {PHONE}: {text!r}"
    tab.set_viewport_size({"width": DESK, "height": 900})
    for kind in ["table", "pre"]:
        for text in tab.eval_on_selector_all(f"main {kind}", CUT):
            yield f"cut at {DESK}: {kind} {text!r}"


def broken(links, places):
    """Messages about broken links, by page; external links are not checked."""
    for name, targets in links.items():
        for target in set(targets):
            if urlsplit(target).scheme != "file":
                continue
            address, place = urldefrag(target)
            path = Path(unquote(urlsplit(address).path)).resolve()
            if not path.exists():
                yield f"{name}: no page {path.name}"
            elif place and path in places and unquote(place) not in places[path]:
                yield f"{name}: no place {place} in {path.name}"


if __name__ == "__main__":
    main()

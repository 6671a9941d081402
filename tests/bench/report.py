# SPDX-License-Identifier: MIT
"""report.html: the pages with the figures of a machine in one file, pictures inside, for a screen of any width."""
import os
import re
import sys

import tables

try:
    import markdown
except ImportError:
    markdown = None

STYLE = """
body { max-width: 60rem; margin: 0 auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; color-scheme: light dark }
table { display: block; overflow-x: auto; border-collapse: collapse; font-size: .9rem }
th, td { padding: .2rem .5rem; border-bottom: 1px solid #8888; text-align: left }
pre { overflow-x: auto } svg { max-width: 100%; height: auto; background: #fff } a { overflow-wrap: anywhere }
"""


def need():
    """Hours of runs do not end with an import that fails."""
    if markdown is None:
        sys.exit("the report needs Python-Markdown for this Python: apt-get install python3-markdown, or pip install markdown")


def html(pages, pictures):
    """The texts of pages, one after the other. The pictures that they show are texts of SVG, by name."""
    parser = markdown.Markdown(extensions=["tables", "toc"])
    body = "\n".join(parser.reset().convert(re.sub(r"<!--.*?-->\n?", "", page, flags=re.S)) for page in pages)
    body = re.sub(r'<img [^>]*src="([^"]+)"[^>]*>', lambda image: pictures[image[1]], body)
    title = re.search(r"<h1[^>]*>(.*?)</h1>", body)[1]
    return (f'<!DOCTYPE html>\n<html lang="en"><meta charset="utf-8">\n<title>{title}</title>\n'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>{STYLE}</style>\n{body}\n</html>\n')


def write(folder, texts):
    """Of the pages and pictures in `texts`, by name; joins and SQL come first, as in RESULTS.md."""
    pictures = {name: text for name, text in texts.items() if name.endswith(".svg")}
    tables.put(os.path.join(folder, "report.html"), html([texts["RESULTS.md"], texts["ARTICLES.md"]], pictures))

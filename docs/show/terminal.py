"""Draws what a program printed on a terminal as an SVG image.

    terminal.py TITLE <typescript >image.svg

It reads the output with its escape sequences. Needs Python's rich, which
`make deps` installs with the reference (DEFT_OPENHANDS_PYTHON).
"""
import io
import sys

from rich.console import Console
from rich.text import Text

WIDTH = 100

# rich's own template without the fonts that it fetches from another host.
IMAGE = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""

console = Console(width=WIDTH, record=True, file=io.StringIO(), force_terminal=True, color_system="standard")
text = sys.stdin.buffer.read().decode(errors="replace").replace("\r\n", "\n")
for line in text.split("\n"):
    # A carriage return rewrites the line: what came last is seen.
    console.print(Text.from_ansi(line.rsplit("\r", 1)[-1]))
sys.stdout.write(console.export_svg(title=sys.argv[1], code_format=IMAGE))

"""Every colour, declared once; style sheets and scripts get theirs from `css`.

A new row of `INTERFACE` is also named in `explorer/front/styles/base.css`, for light and for dark, and read
in `Theme.read` of `explorer/front/matrix/colours.js` where it is drawn on a canvas.

Lanes: a hue for each of the 8 groups of a warp, a shade for each of its 4 threads.

The hues are those of Okabe and Ito (Color Universal Design, 2008), which remain distinct under the common
forms of colour blindness, with grey in place of black. Neighbouring groups meet in neighbouring rows (7 and 0
as well); of all orders this one keeps them furthest apart for every form of colour vision.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

#: Names and full strength of the 8 hues, by lane group.
HUES: dict[str, str] = {
    "blue": "#0072B2",
    "grey": "#7A7A7A",
    "sky": "#56B4E9",
    "vermilion": "#D55E00",
    "purple": "#CC79A7",
    "yellow": "#F0E442",
    "green": "#009E73",
    "orange": "#E69F00",
}
INK = "#1A1A1A"  # text and outlines on paper
PAPER = "#FFFFFF"
_DARK_PAPER = "#1C1C1C"
#: What is not a lane, in the Explorer and on pages of their own: on a light page and on a dark one.
INTERFACE: dict[str, tuple[str, str]] = {
    "ink": (INK, "#F0F0F0"),
    "faint": ("#5C5C5C", "#B4B4B4"),
    "paper": (PAPER, _DARK_PAPER),
    "plain": ("#EDEDED", "#333333"),  # buttons
    "line": ("#D9D9D9", "#4A4A4A"),
    "brand": ("#1565C0", "#6CB6FF"),
    "good": ("#00664B", "#4FCBA4"),
    "bad": ("#B00060", "#FF7AC0"),
    "step": ("#B33C00", "#FFB454"),  # of a timeline
    "flash": ("#FFDD00", "#FFE45C"),  # of what was changed
}
#: What a warp does or waits for, by the names of `ptxlab.simulator.timing`; grey costs nothing, since another
#: warp issues meanwhile.
STALLS: dict[str, str] = {
    "selected": HUES["green"],
    "wait": HUES["sky"],
    "long scoreboard": HUES["vermilion"],
    "short scoreboard": HUES["orange"],
    "barrier": HUES["purple"],
    "mbarrier": HUES["blue"],
    "wgmma": HUES["yellow"],
    "math pipe throttle": "#7B3F8C",
    "LG throttle": "#8C4A1F",
    "MIO throttle": "#7830F0",
    "drain": "#4D6B8A",
    "dispatch stall": "#6B8E4E",
    "not selected": "#A8A8A8",
    "start": "#D0D0D0",
}
OTHER_STALL = "#909090"
#: How much of the hue is in the shade of thread 0..3 of a group; the rest is white.
STRENGTHS: tuple[float, ...] = (0.34, 0.50, 0.66, 0.82)

BLACK = "#000000"  # text on colours of a dark page; shadows
SHADE = "#7F7F7F"  # where there is more to scroll to
TRANSPARENT = "rgba(0,0,0,0)"
EDGE = "#8888"  # of boxes on any page: half transparent
RULE = "#8A8A8A"  # thin lines
DIM = "#6B6B6B"  # text of what is not in focus
GRID = "#E4E4E4"  # lines of a chart
FAINT = "#F4F6F8"  # the lowest number of a heat map
FREE = "#808080"  # free tensor memory, on any page
PAGE_PAPER = f"var(--jp-layout-color0, {PAPER})"
PAGE_INK = f"var(--jp-content-font-color0, {INK})"  # text on a page of Jupyter


@lru_cache(maxsize=4096)  # heat gives any number of shades
def mix(colour: str, part: float, other: str = PAPER) -> str:
    """`part` of the colour and the rest of the other, as ``#RRGGBB``.

    >>> mix("#0072B2", 0.5)
    '#80B8D8'
    """
    return "#" + "".join(
        f"{round(part * a + (1 - part) * b):02X}" for a, b in zip(_rgb(colour), _rgb(other), strict=True)
    )


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _luminance(colour: str) -> float:
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in (channel / 255 for channel in _rgb(colour))
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@lru_cache(maxsize=4096)  # heat gives any number of shades
def contrast(colour: str, other: str) -> float:
    """Contrast ratio of WCAG 2, from 1 to 21; 4.5 is enough for small text.

    >>> round(contrast("#000000", "#FFFFFF"))
    21
    """
    low, high = sorted((_luminance(colour), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


#: Colour of lanes 0..31; the lanes of a warpgroup's further warps repeat them.
LANES: tuple[str, ...] = tuple(mix(hue, strength) for hue in HUES.values() for strength in STRENGTHS)


def stall(reason: str) -> str:
    """The colour of what a warp does or waits for; grey for a reason without its own.

    >>> stall("long scoreboard")
    '#D55E00'
    """
    return STALLS.get(reason, OTHER_STALL)


def css() -> str:
    """The colours as variables of a style sheet: `--ptx-orange`, `--ptx-light-ink`, `--ptx-dark-ink`.

    >>> "--ptx-blue: #0072B2" in css(), "--ptx-dark-paper: #1C1C1C" in css()
    (True, True)
    """
    values = {**HUES, "rule": RULE, "black": BLACK, "shade": SHADE}
    for name, (light, dark) in INTERFACE.items():
        values |= {f"light-{name}": light, f"dark-{name}": dark}
    return f":root {{ {' '.join(f'--ptx-{name}: {colour};' for name, colour in values.items())} }}\n"


def rgb(colour: str) -> str:
    """Red, green and blue from 0 to 255, as CSS takes them.

    >>> rgb("#0072B2")
    '0, 114, 178'
    """
    return ", ".join(map(str, _rgb(colour)))


# -- light and dark pages --------------------------------------------------------------------------------

#: Pages that are dark: JupyterLab and Notebook 7, VS Code, Colab.
DARK_PAGES = '[data-jp-theme-light="false"], .vscode-dark, [theme="dark"]'


def lane_shades(paper: str, ink: str, least: dict[str, float]) -> list[tuple[str, str]]:
    """Background and text of lanes 0..31 on a page of that colour; text is ink or white.

    `least` is the contrast that each of the two needs. A shade on which neither can be read gives way to the
    nearest on which one can.
    """

    def shade(hue: str, strength: float) -> tuple[str, str]:
        near = sorted((step / 100 for step in range(101)), key=lambda share: (abs(share - strength), share))
        for fill in (mix(hue, share, paper) for share in near):
            text = max((ink, PAPER), key=lambda text: contrast(text, fill))
            if contrast(fill, text) >= least[text]:
                return fill, text
        raise AssertionError(f"no shade of {hue} can be read on {paper}")

    return [shade(hue, strength) for hue in HUES.values() for strength in STRENGTHS]


#: Small text needs 4.5. Black on a dark page needs more: it looks fainter than its contrast says.
MIN_ON_LIGHT = {INK: 4.5, PAPER: 4.5}
MIN_ON_DARK = {BLACK: 6.0, PAPER: 5.0}


@dataclass(frozen=True)
class Theme:
    """The colours of a page: paper, text, and the lanes on it."""

    paper: str
    ink: str  # text and outlines on paper
    dim: str  # headings, notes, and text of what is not in focus
    rule: str  # thin lines
    inks: tuple[str, str]  # text on a cell is the one that reads better
    lanes: tuple[str, ...]
    sign: str  # of a sign bit where there is room for little else

    def text_on(self, background: str) -> str:
        """Text on a cell of that colour.

        >>> LIGHT.text_on("#F0E442"), LIGHT.text_on("#0072B2")
        ('#1A1A1A', '#FFFFFF')
        """
        return max(self.inks, key=lambda text: contrast(text, background))


LIGHT = Theme(PAPER, INK, DIM, RULE, (INK, PAPER), LANES, sign=HUES["blue"])
#: As in the Explorer: the hues deepen towards a dark page instead of fading towards a white one.
DARK = Theme(
    _DARK_PAPER,
    "#F2F2F2",
    "#B8B8B8",
    "#767676",
    (BLACK, PAPER),
    tuple(fill for fill, _ in lane_shades(_DARK_PAPER, BLACK, MIN_ON_DARK)),
    sign=HUES["sky"],
)

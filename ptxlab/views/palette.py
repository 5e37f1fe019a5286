"""The colours of lanes: a hue for each of the 8 groups of a warp, a shade for each of its 4 threads.

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
#: How much of the hue is in the shade of thread 0..3 of a group; the rest is white.
STRENGTHS: tuple[float, ...] = (0.34, 0.50, 0.66, 0.82)

INK = "#1A1A1A"  # text and outlines on paper
PAPER = "#FFFFFF"
RULE = "#8A8A8A"  # thin lines
DIM = "#6B6B6B"  # text of what is not in focus


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


# -- light and dark pages --------------------------------------------------------------------------------

#: Pages that are dark: JupyterLab and Notebook 7, VS Code, Colab.
DARK_PAGES = '[data-jp-theme-light="false"], .vscode-dark, [theme="dark"]'
_DARK_PAPER = "#1C1C1C"


def lane_shades(paper: str, ink: str, least: dict[str, float]) -> list[tuple[str, str]]:
    """Background and text of lanes 0..31 on a page of that colour; text is ink or white.

    `least` is the contrast that each of the two needs. A shade on which neither can be read gives way to the
    nearest on which one can.
    """

    def shade(hue: str, strength: float) -> tuple[str, str]:
        near = sorted((step / 100 for step in range(101)), key=lambda each: (abs(each - strength), each))
        for fill in (mix(hue, each, paper) for each in near):
            text = max((ink, PAPER), key=lambda text: contrast(text, fill))
            if contrast(fill, text) >= least[text]:
                return fill, text
        raise AssertionError(f"no shade of {hue} can be read on {paper}")

    return [shade(hue, strength) for hue in HUES.values() for strength in STRENGTHS]


#: Small text needs 4.5. Black on a dark page needs more: it looks fainter than its contrast says.
MIN_ON_LIGHT = {INK: 4.5, PAPER: 4.5}
MIN_ON_DARK = {"#000000": 6.0, PAPER: 5.0}


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


LIGHT = Theme(PAPER, INK, DIM, RULE, (INK, PAPER), LANES, sign="#0072B2")
#: As in the Explorer: the hues deepen towards a dark page instead of fading towards a white one.
DARK = Theme(
    _DARK_PAPER,
    "#F2F2F2",
    "#B8B8B8",
    "#767676",
    ("#000000", "#FFFFFF"),
    tuple(fill for fill, _ in lane_shades(_DARK_PAPER, "#000000", MIN_ON_DARK)),
    sign="#56B4E9",
)

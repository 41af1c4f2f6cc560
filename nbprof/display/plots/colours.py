"""Colours: the Okabe–Ito palette, which all eyes tell apart, on a light or a dark ground."""

from typing import TYPE_CHECKING, NamedTuple

from matplotlib.colors import to_rgb, to_rgba

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Colour = tuple[float, float, float]

PALETTE = tuple(
    map(to_rgb, ("#0072B2", "#E69F00", "#009E73", "#F0E442", "#D55E00", "#56B4E9", "#CC79A7"))
)
"""In an order in which neighbours differ in grey, too."""


class Theme(NamedTuple):
    """What an Axes is drawn with, whatever style is in force by now."""

    ink: Colour
    ground: Colour

    @property
    def main(self) -> Colour:
        """The colour of what there is one of: blue, or on a dark ground sky blue."""
        return PALETTE[0] if _lightness(self.ground) > _lightness(self.ink) else PALETTE[5]

    def faded(self, colour: Colour, share: float) -> Colour:
        """Mix a colour with the ground, of which it keeps so large a share."""
        red, green, blue = (
            share * one + (1 - share) * other
            for one, other in zip(colour, self.ground, strict=True)
        )
        return red, green, blue

    def grey(self, share: float) -> Colour:
        """Give a grey between the ground (0) and the ink (1)."""
        return self.faded(self.ink, share)


def _lightness(colour: Colour) -> float:
    """Say how light a colour looks, about: green counts most, blue least."""
    red, green, blue = colour
    return 0.3 * red + 0.6 * green + 0.1 * blue


def theme_of(ax: "Axes") -> Theme:
    """Read ink and ground off an Axes: a style may be in force no longer that it was made in."""
    ground = next(
        (
            colour[:3]
            for colour in map(to_rgba, (ax.get_facecolor(), ax.figure.get_facecolor()))
            if colour[3] > 0
        ),
        to_rgb("white"),
    )
    return Theme(to_rgb(ax.xaxis.label.get_color()), ground)

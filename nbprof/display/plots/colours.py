"""The Okabe–Ito palette, safe for colour-blind readers, on light and dark backgrounds."""

from typing import TYPE_CHECKING, NamedTuple

from matplotlib.colors import to_rgb, to_rgba

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Colour = tuple[float, float, float]

PALETTE = tuple(
    map(to_rgb, ("#0072B2", "#E69F00", "#009E73", "#F0E442", "#D55E00", "#56B4E9", "#CC79A7"))
)
"""The palette, ordered so that neighbours also differ in grey."""


class Theme(NamedTuple):
    """The text and background colours of an Axes."""

    ink: Colour
    ground: Colour

    @property
    def main(self) -> Colour:
        """The colour of a single series: blue, or sky blue on a dark background."""
        return PALETTE[0] if _lightness(self.ground) > _lightness(self.ink) else PALETTE[5]

    def faded(self, colour: Colour, share: float) -> Colour:
        """Mix a colour with the background, keeping this share of it."""
        red, green, blue = (
            share * part + (1 - share) * ground
            for part, ground in zip(colour, self.ground, strict=True)
        )
        return red, green, blue

    def grey(self, share: float) -> Colour:
        """Return a grey between the background (0) and the text colour (1)."""
        return self.faded(self.ink, share)


def _lightness(colour: Colour) -> float:
    """Return roughly how light a colour looks; green counts most, blue least."""
    red, green, blue = colour
    return 0.3 * red + 0.6 * green + 0.1 * blue


def theme_of(ax: "Axes") -> Theme:
    """Read the colours from an Axes, since the style it was made in may no longer be active."""
    ground = next(
        (
            colour[:3]
            for colour in map(to_rgba, (ax.get_facecolor(), ax.figure.get_facecolor()))
            if colour[3] > 0
        ),
        to_rgb("white"),
    )
    return Theme(to_rgb(ax.xaxis.label.get_color()), ground)

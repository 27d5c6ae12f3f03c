"""What the demo computes: a coloured, shaded relief of an elevation model, in plain NumPy.

Nothing here knows of fusion. The demo calls `shade` as it stands, and again as ``fused(shade)``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

# From the lowest point to the highest: red, green, blue.
TINTS = (
    (0.30, 0.46, 0.36),
    (0.55, 0.66, 0.42),
    (0.86, 0.82, 0.58),
    (0.76, 0.59, 0.41),
    (0.62, 0.45, 0.38),
    (0.97, 0.95, 0.93),
)
DUSK = (0.02, 0.05, 0.16)


def shade(
    elevation: Array, dx: float, dy: float, azimuth: float, altitude: float, exaggeration: float
) -> tuple[Array, ...]:
    """Red, green, blue, light and steepness of every inner point of ``elevation``.

    ``dx`` and ``dy`` are the distances of samples in metres; the sun stands at ``azimuth``
    (clockwise from north) and ``altitude``, in degrees. Rows run from north to south.
    """
    z = elevation * exaggeration

    # The slope by Horn's formula, from the eight neighbours of each point.
    north, south = z[:-2], z[2:]
    west, east = z[:, :-2], z[:, 2:]
    to_east = (east[:-2] + 2 * east[1:-1] + east[2:] - west[:-2] - 2 * west[1:-1] - west[2:]) / (
        8 * dx
    )
    to_north = (
        north[:, :-2] + 2 * north[:, 1:-1] + north[:, 2:]
        - south[:, :-2] - 2 * south[:, 1:-1] - south[:, 2:]
    ) / (8 * dy)  # fmt: skip
    steepness = np.sqrt(to_east * to_east + to_north * to_north)
    slope = np.arctan(steepness)
    aspect = np.arctan2(-to_east, -to_north)  # the direction in which water runs

    # The sun, and a soft light from the side for what lies in its shadow.
    zenith = np.radians(90 - altitude)
    sun = np.radians(azimuth)
    direct = np.cos(zenith) * np.cos(slope) + np.sin(zenith) * np.sin(slope) * np.cos(sun - aspect)
    side = np.cos(slope) + np.sin(slope) * np.cos(sun - np.pi / 2 - aspect)
    light = 0.8 * np.maximum(direct, 0) + 0.2 * np.maximum(side, 0)

    # Stretch the light to its own spread, and the heights to their range.
    light = np.clip(0.84 + 0.2 * (light - np.mean(light)) / np.std(light), 0.15, 1.25)
    inner = elevation[1:-1, 1:-1]
    low, high = np.min(inner), np.max(inner)
    height = (inner - low) / (high - low) * (len(TINTS) - 1)

    # Colours between the tints, and what the sun does not reach in blue dusk.
    picture = []
    for channel in range(3):
        colour = np.full_like(height, TINTS[0][channel])
        for step in range(len(TINTS) - 1):
            rise = TINTS[step + 1][channel] - TINTS[step][channel]
            colour += rise * np.clip(height - step, 0, 1)
        dusk = np.where(light < 1, DUSK[channel] * (1 - light), 0)
        picture.append(np.clip(colour * light + dusk, 0, 1))
    red, green, blue = picture
    return red, green, blue, light, steepness

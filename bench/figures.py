"""Statistics of measurements that are repeated: percentiles, medians of rounds and what they are spread over.

A machine drifts: what was measured first is not what it would be now. So contenders take turns in short rounds, a ratio is
taken within a round, and of the rounds the median counts.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of some rounds, and the lowest and highest of them."""

    median: float
    low: float
    high: float


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest of the values that at least `percent` of them do not exceed. Raises ValueError without values."""
    if not values:
        raise ValueError("no values")
    rank = math.ceil(len(values) * percent / 100)
    return sorted(values)[max(rank, 1) - 1]


def spread(rounds: Sequence[float]) -> Spread:
    """What rounds gave. Raises ValueError without rounds."""
    if not rounds:
        raise ValueError("no rounds")
    return Spread(statistics.median(rounds), min(rounds), max(rounds))


def ratio(ours: Sequence[float], base: Sequence[float]) -> Spread:
    """Ours over the base line's, round by round. Raises ValueError where the rounds do not pair up."""
    return spread([one / other for one, other in zip(ours, base, strict=True)])

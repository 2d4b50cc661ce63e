"""Scores and loss of a block of training, each with its gradient.

These tensors are small, and torch would make dozens of calls for them. The
plain twins are in :mod:`bcm_pyg.nn.scoring` and
:mod:`bcm_pyg.training.objective`.
"""

from typing import Any

import numpy as np

from .scores import INF, compiled, fused, squared_distance

_ONE, _TWO = np.float32(1), np.float32(2)


@compiled
def edge_distances(z: Any, source: Any, num_goals: int) -> Any:
    """Squared distances of edges and pairs of a source and a goal, [M, G].

    The rows of z are M edges, then S * G pairs; an edge has those of its
    source.
    """
    num = source.size
    out = np.empty((num, num_goals), np.float32)
    for e in range(num):
        first = num + source[e] * num_goals
        for g in range(num_goals):
            out[e, g] = squared_distance(z[e], z[first + g])
    return out


@fused
def edge_distances_back(z: Any, source: Any, grad: Any) -> Any:
    """The gradient with respect to z, of that with respect to distances."""
    num, num_goals = grad.shape
    out = np.zeros_like(z)
    for e in range(num):
        first = num + source[e] * num_goals
        here, to_here = z[e], out[e]
        for g in range(num_goals):
            there, to_there = z[first + g], out[first + g]
            slope = _TWO * grad[e, g]
            for k in range(here.size):
                change = slope * (here[k] - there[k])
                to_here[k] += change
                to_there[k] -= change
    return out


@compiled
def _least(values: Any, scale: Any) -> tuple[float, float]:
    """The lowest of some numbers and log(sum(exp(-x / scale))) above it."""
    low = values[0]
    for value in values:
        if value < low or value != value:
            low = value
    total = 0.0
    for value in values:
        total += np.exp((low - value) / scale)
    return low, np.log(total)


@compiled
def block_loss(
    score: Any,
    target: Any,
    cost: Any,
    head: Any,
    source: Any,
    sources: Any,
    goals: Any,
    calibrated: bool,
    relative: bool,
    share: float,
    ranking: float,
    temperature: float,
    regret: float,
    regret_temperature: float,
    max_regret: float,
) -> tuple[float, Any]:
    """Loss of the scores [M, G], and its gradient with respect to them."""
    num_edges, num_goals = score.shape
    grad = np.zeros_like(score)
    begin = np.searchsorted(source, np.arange(sources.size + 1))
    seen = np.empty(num_edges, np.float64)
    wanted = np.empty(num_edges, np.float64)
    chance = np.empty(num_edges, np.float64)
    error, cross, lost, trained, decided = 0.0, 0.0, 0.0, 0, 0
    # Means over counts that are known only after all sources.
    ranked = np.zeros_like(score)
    for s in range(sources.size):
        part = slice(begin[s], begin[s + 1])
        if begin[s] == begin[s + 1]:
            continue
        for g in range(num_goals):
            if sources[s] == goals[s, g]:
                continue  # the route has ended
            for e in range(begin[s], begin[s + 1]):
                if head[e] == goals[s, g]:
                    seen[e] = wanted[e] = cost[e] if calibrated else 0.0
                    continue
                seen[e], wanted[e] = score[e, g], target[e, g]
                if abs(wanted[e]) < INF:
                    trained += 1
                    scale = 1.0 + wanted[e] if relative else 1.0
                    off = (seen[e] - wanted[e]) / scale
                    error += off * off
                    grad[e, g] = 2.0 * off / scale
            if ranking == 0 and regret == 0:
                continue
            low, log_sum = _least(wanted[part], temperature)
            if not abs(low) < INF:
                continue
            decided += 1
            lowest, log_total = _least(seen[part], temperature)
            for e in range(begin[s], begin[s + 1]):
                log_share = (lowest - seen[e]) / temperature - log_total
                weight = np.exp((low - wanted[e]) / temperature - log_sum)
                if weight > 0:
                    cross -= weight * log_share
                if head[e] != goals[s, g]:
                    slope = (weight - np.exp(log_share)) / temperature
                    ranked[e, g] = ranking * slope
            _, log_total = _least(seen[part], regret_temperature)
            scale = 1.0 + low if relative else 1.0
            mean = 0.0
            for e in range(begin[s], begin[s + 1]):
                log_share = (lowest - seen[e]) / regret_temperature - log_total
                chance[e] = np.exp(log_share)
                mean += chance[e] * min(wanted[e] - low, max_regret)
            lost += mean / scale
            for e in range(begin[s], begin[s + 1]):
                if head[e] != goals[s, g]:
                    off = mean - min(wanted[e] - low, max_regret)
                    slope = chance[e] * off / (scale * regret_temperature)
                    ranked[e, g] += regret * slope
    share /= max(1, trained)
    decided = max(1, decided)
    for e in range(num_edges):
        for g in range(num_goals):
            grad[e, g] = share * grad[e, g] + ranked[e, g] / decided
    choice = (ranking * cross + regret * lost) / decided
    return share * error + choice, grad

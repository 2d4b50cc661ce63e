from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(repr=False)
class History:
    """What happened during :func:`~bcm_pyg.fit`, one entry per validation.

    Attributes:
        step: Steps made so far.
        seconds: Wall time so far.
        loss: Mean loss since the last entry.
        gap: Gap in percent on the validation queries (visited-aware greedy).
        success_rate: Success rate there.
        steps: Steps in all.
        rows_per_second: Pairs (node, goal) trained per second, over all.
        interrupted: Whether Ctrl-C ended the training.
    """

    step: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    gap: list[float] = field(default_factory=list)
    success_rate: list[float] = field(default_factory=list)
    steps: int = 0
    rows_per_second: float = 0.0
    interrupted: bool = False

    def __repr__(self) -> str:
        lines = [f'{"step":>7} {"s":>7} {"loss":>9} {"Gap %":>8} {"SR":>6}']
        rows = zip(
            self.step,
            self.seconds,
            self.loss,
            self.gap,
            self.success_rate,
            strict=True,
        )
        for step, seconds, loss, gap, rate in rows:
            lines.append(
                f'{step:7d} {seconds:7.1f} {loss:9.4f} {gap:8.2f} {rate:6.3f}'
            )
        lines.append(
            f'{self.steps} steps, {self.rows_per_second:,.0f} pairs a second'
            + (', interrupted' if self.interrupted else '')
        )
        return '\n'.join(lines)

"""Baselines made to be committed: learn from responses, check others against them, save and load as JSON.

A baseline learned here is *sealed*: what it learned is taken as complete, and it learns nothing from what it checks.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from toolpulse._base import files
from toolpulse._base.paths import format_path
from toolpulse.errors import ConfigurationError, InputError
from toolpulse.evidence.maps import LearnedMap, decide_maps
from toolpulse.evidence.profile import Profile, fold, merge
from toolpulse.evidence.rows import Row, RowKey, join_rows, reshaped, truncated_paths
from toolpulse.evidence.shape_paths import map_paths
from toolpulse.judgement.consumer import DEFAULT, Consumer
from toolpulse.judgement.findings import Finding, worst_first
from toolpulse.judgement.judge import Judgement, judge
from toolpulse.judgement.rules import Risk, worst
from toolpulse.shape import DEFAULT_LIMITS, Limits, Observation, Truncation, Walker
from toolpulse.shape.envelopes import MODES
from toolpulse.state.baseline_file import Contents, decode, encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Verdict(msgspec.Struct, frozen=True):
    """What a set of responses means against a baseline."""

    risk: Risk
    """The worst of the findings; ``quiet`` without any."""
    findings: tuple[Finding, ...]
    """None of them quiet, without repeats, worst first."""
    truncations: tuple[Truncation, ...]
    """Where the responses were not looked at in full."""
    responses: int = 0
    errors: int = 0
    """Results that said they were errors; they are never compared with the baseline."""

    @classmethod
    def of(
        cls, findings: Iterable[Finding], observations: Iterable[Observation], responses: int, errors: int
    ) -> Verdict:
        """The verdict that these findings come to, each once, of responses that gave these observations."""
        distinct = worst_first({finding.identity: finding for finding in findings}.values())
        cuts = tuple(sorted({cut for seen in observations for cut in seen.truncations}))
        return cls(worst(finding.risk for finding in distinct), distinct, cuts, responses, errors)


class Baseline:
    """Distinct shapes with counts, the maps they showed, and the settings they were learned with. Immutable.

    ``merged`` is the evidence of more shapes, of which nothing else is known.
    """

    def __init__(
        self,
        rows: Iterable[Row],
        *,
        maps_learned: tuple[LearnedMap, ...] = (),
        consumers: Sequence[Consumer] = (),
        limits: Limits = DEFAULT_LIMITS,
        maps: Sequence[str] = (),
        records: Sequence[str] = (),
        unwrap: str = "none",
        merged: Profile | None = None,
    ) -> None:
        self.rows = tuple(
            sorted(rows, key=lambda row: (row.shape.fingerprint, row.encoding, sorted(map(format_path, row.cuts))))
        )
        self.maps_learned = maps_learned
        self.consumers = tuple(consumers)
        self.unwrap = unwrap
        self.merged = merged
        if unwrap not in MODES:
            raise ConfigurationError(f"unwrap must be one of {', '.join(MODES)}, not {unwrap!r}")
        _check_consumers(self.consumers)
        self._plain_walker = Walker(limits, maps, records)

    @property
    def limits(self) -> Limits:
        """How much of a response is looked at."""
        return self._plain_walker.limits

    @cached_property
    def walker(self) -> Walker:
        """The walk that reads responses as this baseline does."""
        learned = frozenset(decision.path for decision in self.maps_learned)
        return self._plain_walker.with_maps(learned, self.profile.map_paths())

    @cached_property
    def profile(self) -> Profile:
        """The evidence per path."""
        of_rows = fold((row.shape, row.sightings, row.encoding, row.cuts) for row in self.rows)
        return merge(of_rows, self.merged) if self.merged else of_rows

    @property
    def observations(self) -> int:
        """How many responses it learned from."""
        return sum(row.count for row in self.rows) + (self.merged.observations.count if self.merged else 0)

    @classmethod
    def learn(
        cls,
        responses: Iterable[object],
        *,
        consumers: Sequence[Consumer] = (),
        limits: Limits = DEFAULT_LIMITS,
        maps: Sequence[str] = (),
        records: Sequence[str] = (),
        unwrap: str = "none",
    ) -> Baseline:
        """Learn a sealed baseline from responses, in order.

        ``unwrap="auto"`` looks through envelopes; results flagged as errors are left out. Raises InputError where
        no response is left to learn from, ConfigurationError for a bad setting.
        """
        _refuse_one(responses)
        walker = Walker(limits, maps, records)
        rows = _tally(walker.observe(response, unwrap) for response in responses)
        if not rows:
            raise InputError("nothing to learn from: no response that is not an error")
        shapes, decisions = decide_maps(
            [(row.shape, row.count) for row in rows], walker.is_record, walker.limits.shapes
        )
        maps_now = map_paths(shapes)
        rewritten = (reshaped(row, shape, maps_now) for row, shape in zip(rows, shapes, strict=True))
        return cls(
            _joined(rewritten),
            maps_learned=decisions,
            consumers=consumers,
            limits=limits,
            maps=maps,
            records=records,
            unwrap=unwrap,
        )

    def observe(self, response: object) -> Observation:
        """Reduce a response the way this baseline's responses were."""
        return self.walker.observe(response, self.unwrap)

    def judge(self, seen: Observation, consumers: Sequence[Consumer] = ()) -> Judgement:
        """Judge one observation for some consumers; for this baseline's, or the default one, without any."""
        return judge(
            self.profile,
            seen.shape,
            tuple(consumers) or self.consumers,
            encoding=seen.encoding,
            cuts=truncated_paths(seen.truncations),
            shapes=self.limits.shapes,
        )

    def check(self, responses: Iterable[object], *, consumer: Consumer | str | None = None) -> Verdict:
        """Judge responses against this baseline; nothing is learned.

        ``consumer``: a Consumer, or the name of one of the baseline's; None stands for all of the baseline's, or the
        default one where it has none. Raises ConfigurationError for a name it does not have.
        """
        _refuse_one(responses)
        consumers = self._consumers(consumer)
        judged: dict[Observation, Judgement | None] = {}
        total = errors = 0
        for response in responses:
            seen = self.observe(response)
            total += 1
            errors += seen.outcome == "error"
            if seen not in judged:
                judged[seen] = self.judge(seen, consumers) if seen.outcome != "error" else None
        findings = (finding for one in judged.values() if one is not None for finding in one.findings)
        return Verdict.of(findings, judged, total, errors)

    def _consumers(self, consumer: Consumer | str | None) -> tuple[Consumer, ...]:
        if isinstance(consumer, Consumer):
            return (consumer,)
        if consumer is None:
            return self.consumers or (DEFAULT,)
        named = tuple(one for one in self.consumers if one.name == consumer)
        if not named:
            known = ", ".join(one.name for one in self.consumers) or "none"
            raise ConfigurationError(f"consumer: {consumer!r} is not one of the baseline's ({known})")
        return named

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the baseline as sorted JSON, one line a fact; the file is replaced whole or not at all."""
        files.replace(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Baseline:
        """Read a saved baseline. Raises InputError naming the file and what is wrong with it."""
        data = files.read(path)
        try:
            return cls.from_json(data)
        except InputError as error:
            raise files.named(path, error) from None

    def to_json(self) -> bytes:
        """The baseline as the bytes of its file."""
        plain = self._plain_walker
        contents = Contents(
            self.rows,
            self.maps_learned,
            self.consumers,
            plain.limits,
            plain.maps,
            plain.records,
            self.unwrap,
            self.merged,
        )
        return encode(contents)

    @classmethod
    def from_json(cls, data: bytes) -> Baseline:
        """Read the bytes of a baseline file. Raises InputError saying what is wrong."""
        contents = decode(data)
        try:
            return cls(**contents._asdict())
        except (ValueError, TypeError, RecursionError) as error:
            raise InputError(f"not a baseline: {error}") from None


def _check_consumers(consumers: tuple[Consumer, ...]) -> None:
    for index, consumer in enumerate(consumers):
        if not isinstance(consumer, Consumer):
            raise ConfigurationError(f"consumers[{index}] must be a Consumer, not {type(consumer).__name__}")
    names = [consumer.name for consumer in consumers]
    if len(set(names)) < len(names):
        raise ConfigurationError(f"consumers: two are named {max(names, key=names.count)}")


def _refuse_one(responses: object) -> None:
    """One response is iterable too, but its keys or characters are no responses."""
    if isinstance(responses, str | bytes | Mapping):
        raise ConfigurationError(f"responses takes a list of responses, not one {type(responses).__name__}")


def _tally(observations: Iterable[Observation]) -> list[Row]:
    seen = (observation for observation in observations if observation.outcome != "error")
    return _joined(
        Row(one.shape, 1, ordinal, ordinal, one.encoding, truncated_paths(one.truncations))
        for ordinal, one in enumerate(seen, 1)
    )


def _joined(rows: Iterable[Row]) -> list[Row]:
    joined: dict[RowKey, Row] = {}
    for row in rows:
        joined[row.key] = join_rows(joined[row.key], row) if row.key in joined else row
    return list(joined.values())

"""Verdicts: does a payload keep a schema, and if not, which keyword fails where.

`Judge.is_valid` is the engine's own method, so that judging costs what the engine costs; words are made for failures
only. What the engine cannot decide is unverifiable with a reason, never valid and never invalid.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable
from functools import cache
from typing import Final

import jsonschema_rs

from analyzer.contracts import dialects
from analyzer.contracts.references import References
from analyzer.contracts.schemas import MAX_DEPTH, MAX_SCHEMA_BYTES, canonical, depth, too_deep
from analyzer.contracts.verdicts.branching import MAX_LOOKS, Branching, Telling, branching, surely_few
from analyzer.contracts.verdicts.notes import as_notes
from analyzer.contracts.verdicts.violations import Violation, more_than, tell, text_of, undecided
from analyzer.pointer import pointer

__all__ = ["Judge", "Violation", "schema_errors", "too_deep"]

#: References in a schema that are followed: compiling a chain of them costs the square of its length.
MAX_REFERENCES: Final = 20_000

#: Patterns in a schema that are compiled, names under `patternProperties` among them.
MAX_PATTERNS: Final = 500

#: Bytes of one compiled pattern, and of all of a schema: a class of Unicode under a repeat takes 10 MB and 0.05 s.
MAX_PATTERN_BYTES: Final = 1 << 20
MAX_PATTERNS_BYTES: Final = 64 << 20

#: Patterns in a schema that may step back (look-around, references to groups, possessive repeats): all others take
#: linear time.
MAX_STEPPING: Final = 10

#: Steps back of one pattern on one text, after which it is undecided: about a millisecond. Several patterns share three
#: times as many; where a text is longer than `SHORT`, a step may look at all of it, and they share 3,000.
MAX_BACKTRACKS: Final = 50_000
SHORT: Final = 128

#: Subschemas inside one another, times levels of a payload: the engine's own stack, which ends the process somewhere
#: past 150,000 (measured with `not` and `if` in a chain of references).
MAX_CHAIN: Final = 50_000

#: Values in a payload beyond which only the first failure is told.
MAX_EXPLAINED: Final = 20_000

_MOST_ERRORS: Final = 200

# Values in a payload whose other failures are looked for when the first one is undecided: each may take as long.
_MOST_RETRIED: Final = 1_000

# Looks at one value that any payload may cost: real schemas stay far below.
_MOST_FREE: Final = 1_000

_VALIDATORS: dict[str, Callable[..., jsonschema_rs.Validator]] = {
    dialects.DRAFT4: jsonschema_rs.Draft4Validator,
    dialects.DRAFT6: jsonschema_rs.Draft6Validator,
    dialects.DRAFT7: jsonschema_rs.Draft7Validator,
    dialects.DRAFT2019: jsonschema_rs.Draft201909Validator,
    dialects.DRAFT2020: jsonschema_rs.Draft202012Validator,
}
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"')
_STEPS_BACK = re.compile(rb"\(\?(?:[=!>(]|<[=!])|\\\\(?:[1-9]|k<)|[+*?}]\+")
# What may make a compiled pattern large: Unicode's classes, letters of either case, repeats of ten and more.
_LARGE = re.compile(rb"\\\\[pP]|\(\?i|\{[0-9]{2}|\{[0-9],[0-9]{2}")
_SMALL = 1 << 14
_Kind = jsonschema_rs.ValidationErrorKind


class Judge:
    """One schema, compiled once; keep it per schema id.

    `problem` says why nothing can be judged by it (`schema_invalid`, `schema_unresolvable`, `engine_failed`) and
    `problem_detail` says it in words; both are None where all is well. Nothing is fetched, by any reference.
    """

    __slots__ = (
        *("_alternatives", "_branching", "_compiled", "_engine", "_patient", "_patterns", "_scoped", "_stepping"),
        *("_telling", "is_valid", "problem", "problem_detail", "schema", "text", "weight"),
    )

    #: The engine's own verdict. False also where there is none, and always under a problem: `judge` tells these apart.
    is_valid: Callable[[object], bool]

    def __init__(
        self,
        schema: object,
        *,
        dialect: str = dialects.DEFAULT,
        assert_formats: bool = False,
        text: bytes | None = None,
    ) -> None:
        """Compile a schema; `text` is its canonical spelling, where that is at hand."""
        self.schema = schema
        self.text = text
        self.problem: str | None = None
        self.problem_detail: str | None = None
        self.is_valid = _never
        self.weight = 0
        engine = _VALIDATORS[dialect]
        try:
            self._compile(schema, engine, assert_formats=assert_formats)
        except jsonschema_rs.ValidationError as error:
            self.problem, self.problem_detail = _refused(error)
        except _Refused as error:
            self.problem, self.problem_detail = error.problem, str(error)
        except BaseException as error:
            # A panic of the engine derives from BaseException; an interrupt must still pass.
            if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError):
                raise
            self.problem, self.problem_detail = "engine_failed", f"the engine gave up: {error}"

    def _compile(self, schema: object, engine: Callable[..., jsonschema_rs.Validator], *, assert_formats: bool) -> None:
        if not isinstance(schema, dict | bool):
            raise _Refused("schema_invalid", "a schema is an object or a boolean")
        text = self.text = self.text or canonical(schema)
        if too_deep(text):
            raise _Refused("engine_failed", f"the schema is nested deeper than {MAX_DEPTH} levels")
        if len(text) > MAX_SCHEMA_BYTES:
            raise _Refused("engine_failed", f"the schema has {len(text)} bytes, more than {MAX_SCHEMA_BYTES}")
        if text.count(b'"$ref"') > MAX_REFERENCES:
            raise _Refused("engine_failed", f"the schema has more than {MAX_REFERENCES} references")
        patterns = text.count(b'"pattern":') + (_named_by_pattern(schema) if b'"patternProperties":' in text else 0)
        if patterns > MAX_PATTERNS:
            raise _Refused("engine_failed", f"the schema has more than {MAX_PATTERNS} patterns")
        steps = _STEPS_BACK.search(text) and sum(map(bool, map(_STEPS_BACK.search, _STRING.findall(text))))
        self._stepping = steps or 0
        if self._stepping > MAX_STEPPING:
            raise _Refused("engine_failed", f"the schema has more than {MAX_STEPPING} patterns that may step back")
        references = References(schema)
        few = surely_few(text, _MOST_FREE)
        self._branching = Branching(1, recursive=False) if few else branching(schema, references)
        if self._branching.looks > MAX_LOOKS:
            raise _Refused("engine_failed", f"the schema looks at one value more than {MAX_LOOKS} times")
        if self._branching.endless:
            # The engine takes the second look at a value for a pass, others never end; the standard leaves it open.
            raise _Refused("engine_failed", "the schema refers to itself without end, so what it takes is not defined")
        self._telling = Telling(schema, references, text, self._branching)
        self._patterns = b'"pattern' in text
        self._alternatives = b'"anyOf"' in text or b'"oneOf"' in text
        options = as_notes(text)
        largest = min(MAX_PATTERN_BYTES, MAX_PATTERNS_BYTES // max(patterns, 1))
        self.weight = len(text) + patterns * (largest if _LARGE.search(text) else _SMALL)

        def compiled(backtracks: int) -> jsonschema_rs.Validator:
            regex = jsonschema_rs.FancyRegexOptions(backtrack_limit=backtracks, size_limit=largest)
            return engine(schema, offline=True, validate_formats=assert_formats, pattern_options=regex, **options)

        self._compiled = compiled
        self._patient: jsonschema_rs.Validator | None = None
        self._engine = compiled(min(MAX_BACKTRACKS, 3 * MAX_BACKTRACKS // max(self._stepping, 1)))
        # What a dynamic reference said of a value is forgotten where it is asked again in another scope.
        dynamic = b'"$dynamicRef":' in text or b'"$recursiveRef":' in text
        self._scoped = dynamic and b'"unevaluated' in text and text.count(b'"$id":') > 1
        free = self._branching.looks <= _MOST_FREE and self._branching.chain * (MAX_DEPTH + 1) <= MAX_CHAIN
        free = free and not self._stepping and not self._scoped
        self.is_valid = self._engine.is_valid if free else self._is_valid_if_bounded

    def _is_valid_if_bounded(self, payload: object) -> bool:
        return not self._too_deep(payload) and not self._unbounded(payload) and self._for(payload).is_valid(payload)

    def _for(self, payload: object) -> jsonschema_rs.Validator:
        """The engine that judges the payload: one that steps back less where that costs more."""
        if not self._stepping or not _has_longer(payload, SHORT):
            return self._engine
        if self._patient is None:
            self._patient = self._compiled(3_000 // self._stepping)
        return self._patient

    def _too_deep(self, payload: object) -> bool:
        chain = self._branching.chain
        if not self._branching.recursive and chain * (MAX_DEPTH + 1) <= MAX_CHAIN:
            return False
        levels = depth(payload)
        return (self._branching.recursive and levels > MAX_DEPTH) or chain * (levels + 1) > MAX_CHAIN

    def _unbounded(self, payload: object) -> bool:
        looks = self._branching.looks
        if self._scoped and looks ** depth(payload) > MAX_LOOKS:
            return True
        return looks > _MOST_FREE and more_than(payload, MAX_LOOKS // looks)

    def judge(self, payload: object) -> tuple[str, str | None]:
        """Return `valid`, `invalid` or `unverifiable`, the last with its reason.

        Deep payloads are the caller's to refuse (`too_deep`), on the text and before it is parsed; here they are
        refused under recursive schemas, where the engine would end the process.
        """
        if self.problem is not None:
            return "unverifiable", self.problem
        if self._too_deep(payload):
            return "unverifiable", "payload_too_deep"
        if self._unbounded(payload):
            return "unverifiable", "engine_failed"
        try:
            if self._for(payload).is_valid(payload):
                return "valid", None
            if not self._patterns or self._certain(payload):
                return "invalid", None
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError):
                raise
            return "unverifiable", "engine_failed"
        return "unverifiable", "pattern_undecided"

    def violations(self, payload: object, *, limit: int = 50) -> list[Violation]:
        """Tell which keywords a payload fails, in the order of its members and then of the schema's.

        A failed `anyOf` or `oneOf` is followed by what its nearest branch misses, a level deeper. Keywords that are
        undecided are left out; at most `limit` failures of level 0 are told.
        """
        if self.problem is not None or self._too_deep(payload) or self._unbounded(payload):
            return []
        costly = self._telling.costly(payload)
        if costly and self._alternatives:
            return [Violation("", "", "", "one of too many alternatives to be told apart", text_of(payload))]
        try:
            return tell(_errors(self._for(payload), payload, one=costly), self.schema, payload, limit=limit)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError):
                raise
            return []

    def _certain(self, payload: object) -> bool:
        """Say whether a keyword fails whatever the patterns say that were given up."""
        if not self._stepping:
            return True
        costly = self._telling.costly(payload)
        if costly and self._alternatives:
            return False
        try:
            self._for(payload).validate(payload)
        except jsonschema_rs.ValidationError as error:
            if not undecided(error):
                return True
        if costly or more_than(payload, _MOST_RETRIED):
            return False
        return not all(undecided(error) for error in self._for(payload).iter_errors(payload))


def schema_errors(schema: object, dialect: str = dialects.DEFAULT) -> list[Violation]:
    """Tell where a schema breaks its meta-schema: `instance_pointer` is the guilty place inside the schema.

    Patterns that are no regular expressions are told as `format`. Empty for schemas that are too deep to look at.
    """
    if not isinstance(schema, dict | bool):
        return [Violation("", "", "type", '["object","boolean"]', text_of(schema))]
    if depth(schema) > MAX_DEPTH or _meta(dialect).is_valid(schema):
        return []
    # The meta-schema is not at hand as a document, so what it expects comes from the errors themselves. Where
    # alternatives fail, the nearest one says it better than their list.
    told = tell(_errors(_meta(dialect), schema), None, schema, limit=_MOST_ERRORS)
    return [violation._replace(level=0) for violation in told if violation.branch is None]


class _Refused(Exception):
    def __init__(self, problem: str, detail: str) -> None:
        super().__init__(detail)
        self.problem = problem


def _errors(
    engine: jsonschema_rs.Validator, payload: object, *, one: bool = False
) -> Iterable[jsonschema_rs.ValidationError]:
    if not one and not more_than(payload, MAX_EXPLAINED):
        return engine.iter_errors(payload)
    # The engine writes all failures down before it gives the first, and here they may be millions.
    try:
        engine.validate(payload)
    except jsonschema_rs.ValidationError as error:
        return [error]
    return []


@cache
def _meta(dialect: str) -> jsonschema_rs.Validator:
    return _VALIDATORS[dialect]({"$ref": dialects.META_SCHEMAS[dialect]}, offline=True, validate_formats=True)


def _named_by_pattern(schema: object) -> int:
    """How many patterns name members of objects."""
    count, stack = 0, [schema]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            named = item.get("patternProperties")
            count += len(named) if isinstance(named, dict) else 0
        if isinstance(item, dict | list):
            stack.extend(item.values() if isinstance(item, dict) else item)
    return count


def _has_longer(value: object, most: int) -> bool:
    """Whether a text in a JSON value, or a name of a member, has more than so many characters."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            stack.extend(item)
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
        elif isinstance(item, str) and len(item) > most:
            return True
    return False


def _never(_payload: object) -> bool:
    return False


def _refused(error: jsonschema_rs.ValidationError) -> tuple[str, str]:
    if isinstance(error.kind, _Kind.Referencing):
        return "schema_unresolvable", error.message
    at = pointer(error.instance_path)
    if isinstance(error.kind, _Kind.Format) and error.kind.format == "regex" and _compiles(error.instance):
        # Python takes it, so it may be a pattern of another flavour, or one that is only too large.
        return "engine_failed", f"the engine cannot run the pattern at {at}"
    return "schema_invalid", f"{error.message} at {at}" if at else error.message


def _compiles(text: object) -> bool:
    """Say whether Python reads the pattern, or the engine where it stands alone; it is compiled and never run."""
    try:
        with warnings.catch_warnings(action="ignore"):
            re.compile(str(text))
    except (re.error, OverflowError, RecursionError):
        try:
            jsonschema_rs.Draft202012Validator({"pattern": text}, offline=True)
        except jsonschema_rs.ValidationError:
            return False
    return True

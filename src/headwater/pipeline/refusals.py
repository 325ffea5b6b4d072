"""What Spark refuses, as our errors: the expressions are the user's, the data is the source's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from headwater.errors import HeadwaterError, PipelineError, SparkError
from headwater.spark.quiet import debugging, unheard

MOST_SAID = 400
"""Characters of what Spark says that an error repeats."""


@contextmanager
def refusals(source: str) -> Iterator[None]:
    """Let what Spark refuses be an error of ours. What Java was doing is shown with HEADWATER_DEBUG only."""
    from py4j.protocol import Py4JError
    from pyspark.errors import AnalysisException, ParseException, PySparkException

    try:
        with unheard():
            yield
    except HeadwaterError:
        raise
    except (PySparkException, Py4JError) as error:
        ours = translated(error, source, (AnalysisException, ParseException))
        raise ours from (error if debugging() else None)


def translated(error: BaseException, source: str, refused: tuple[type, ...]) -> HeadwaterError:
    """The error for what Spark says."""
    text = str(error)
    said = first_words(text) or type(error).__name__
    condition = getattr(error, "getCondition", lambda: None)()
    if "change-type:" in text:
        kind = text.split("change-type:", 1)[1].split()[0].strip("'\".,")
        return PipelineError(
            "change-type",
            f"{source}: _change_type is {kind!r}",
            hint="one of insert, delete, update_preimage, update_postimage",
        )
    if condition == "PATH_NOT_FOUND" or "TABLE_OR_VIEW_NOT_FOUND" in text[:MOST_SAID]:
        return PipelineError("missing-source", f"{source}: {said}", hint="is the path or the name right?")
    if isinstance(error, refused):
        return PipelineError("bad-sql", f"{source}: {said}", hint="columns and where are Spark SQL")
    if "[CAST_INVALID_INPUT]" in text:
        what = _after(text, "[CAST_INVALID_INPUT] ").split(" Correct the value")[0]
        return PipelineError(
            "bad-value", f"{source}: {what}", hint="filter such rows with where, or use try_cast in columns"
        )
    if "[MALFORMED_RECORD_IN_PARSING" in text:
        what = f" ({_after(text, '[MALFORMED_CSV_RECORD] ')})" if "[MALFORMED_CSV_RECORD]" in text else ""
        return PipelineError(
            "bad-row",
            f"{source}: a row cannot be read{what}",
            hint="has it as many cells as the header? is every quote closed?",
        )
    return SparkError("spark-failed", f"{source}: {said}", hint="HEADWATER_DEBUG=1 shows all that it said")


def first_words(text: str) -> str:
    """What an error of Spark's is about: what Java gives as the cause, if it does, without codes and places.

    >>> first_words("An error occurred while calling o1.x.\\n: a.B: [OOPS] It broke. SQLSTATE: 42\\n\\tat c.D")
    'It broke.'
    """
    lines = text.strip().splitlines() or [""]
    causes = [found[1] for line in lines if (found := _CAUSE.match(line))]
    said = causes[-1] if causes and lines[0].startswith("An error occurred while calling") else lines[0]
    return re.sub(r"^\[[\w.]+\] ", "", re.sub(r"\s*SQLSTATE: .*$", "", said))[:MOST_SAID]


_CAUSE = re.compile(r"(?:Caused by)?: [\w.$]+(?:Exception|Error)?: (\[[A-Z_.]+\] .*|.+)")


def _after(text: str, mark: str) -> str:
    return re.sub(r"\s*SQLSTATE: .*$", "", text[text.index(mark) + len(mark) :].splitlines()[0])[:MOST_SAID]

"""The durable store: checkpoints of tables, and a log of the versions after the last one.

It knows Arrow tables and metadata, not rules. `store` says what is promised; below it, each module holds one
idea: `folder` (which files), `manifest` (which of them count), `attach` (holding on to them), `segments`
(immutable tables), `log`, `scan` and `frame` (appended versions), `record` and `arrow` (their bytes), `lock`
(one writer), `durable` (what is on the disk and what only seems to be) and `failure` (what the disk refuses).

>>> import tempfile
>>> import pyarrow as pa
>>> path = tempfile.mkdtemp()
>>> with Store.open(path) as store:
...     store.append(Record(1, "apply", {}, {"insert/link": pa.table({"src": ["a"], "dst": ["b"]})}))
...     store.write_checkpoint(Checkpoint(1, {"clock": 5}, {"link": pa.table({"src": ["a"], "dst": ["b"]})}))
...     store.append(Record(2, "apply", {"batch": 7}))

After a restart there is the checkpoint, and then what came after it.

>>> with Store.open(path, mode="r") as store:
...     store.checkpoint.version, store.checkpoint.meta, store.checkpoint.tables["link"].to_pylist()
...     [(record.version, record.kind, record.meta) for record in store.records()]
(1, {'clock': 5}, [{'src': 'a', 'dst': 'b'}])
[(2, 'apply', {'batch': 7})]
"""

from headwater.store.record import Record
from headwater.store.store import Checkpoint, Stats, Store

__all__ = ["Checkpoint", "Record", "Stats", "Store"]

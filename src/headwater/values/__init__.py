"""What a column can hold, and how the engine holds it.

- `types`: the types, as data;
- `scalars`: one value checked, made canonical, and turned into its 64-bit code and back;
- `dictionary`: the append-only dictionaries behind strings and lists;
- `columns`, `arrow`, `sources`: many values at once, from Python, from Arrow, from whatever a user holds;
- `codec`: all of that behind one object;
- `functions`, and by subject `arithmetic`, `ordering`, `text`, `lists`, `moments`: what rules compute;
- `exact_sum`: sums that can be added to and taken from for ever without drift.

Importing any of these imports numpy and nothing heavier; Arrow is imported when Arrow data is met.
"""

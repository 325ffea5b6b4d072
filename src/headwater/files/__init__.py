"""Fact files: rows of relations in files, in and out.

A relation's file is known by its name, and its format by the extension:

| extension            | format                                                                         |
|----------------------|--------------------------------------------------------------------------------|
| `.facts`             | Souffle's default: tabs between cells, no quotes, no header                    |
| `.csv`               | commas, quotes where needed; a header if the first line has the columns' names |
| `.tsv`               | the same with tabs                                                             |
| `.parquet`           | Parquet                                                                        |
| `.arrow`, `.feather` | an Arrow IPC file                                                              |
| `.json`              | an array of objects or arrays                                                  |
| `.jsonl`             | an object or array a line                                                      |

Text and JSON may be compressed with gzip (`.csv.gz`). A `.csv` whose first line has the right number of cells
only when it is cut at tabs is one that Souffle wrote, and is read as such.

Each module holds one idea: `formats` (what an extension or Souffle's options ask for), `find` (which file is
whose), `records` (text cell by cell, with places), `text` (text a column at a time), `header`, `json_rows`,
`cells` and `list_cells` (one cell's text and its value), `infer` and `alike` (types that nobody declared),
`contents`, `read`, `typed` and `load` (files as columns of values), `feed` (change feeds), `order` (rows
sorted) and `write`.
"""

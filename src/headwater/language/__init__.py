"""Text to `Program`, and back. Nothing here runs a rule or checks one; `headwater.rules` does.

- `program`: what a text says, as data
- `source`: a text and the places in it
- `datalog`: `parse`, for NDlog and Souffle-style Datalog, and `render`, the way back to text
"""

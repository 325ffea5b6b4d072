"""Text to `Program`, and back. Nothing here runs a rule or checks one; `headwater.rules` does.

- `program`: what a text says, as data
- `datalog`: `parse`, for NDlog and Souffle-style Datalog
- `render`: `render`, the way back to text
"""

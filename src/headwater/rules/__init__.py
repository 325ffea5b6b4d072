"""From what a text says to rules that can be run: `check.check` gives a `checked.Checked` program.

- `draft`, `rewrites`: rules on their way, and the visible sequence of steps that changes them;
- `shapes`, `safety`, `strata`, `infer_types` (on `type_classes`): what is checked, one idea a module;
- `relations`, `checked`: what comes out;
- `render`: rules as text;
- `terms`: walking over terms and bodies.
"""

"""Answers as people read them: trees of text, pictures, rows and rules in the user's words."""

"""From plans to the SQL of a system, through sqlglot's trees and its writers."""

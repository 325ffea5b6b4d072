"""Tables of other databases, through SQLAlchemy: engines, schemas, types and rows."""

"""The strategy of the paper's section 8: state in tables of the database, maintenance as statements of SQL."""

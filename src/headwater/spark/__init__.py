"""Spark beside this process: a Java, a session, and tables as Spark sees them."""

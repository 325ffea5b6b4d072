"""Where work runs besides this process: a Java for Spark, and a Spark session."""

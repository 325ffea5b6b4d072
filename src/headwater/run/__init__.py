"""Where work runs besides this process: a Java for Spark, a Spark session, data frames."""

"""In which order a node works through what has come: pipelined, buffered, or in iterations (loo-2006 section 3)."""

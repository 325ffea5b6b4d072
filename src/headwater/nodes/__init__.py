"""Relations split over nodes that exchange derivations: the same engine in each, and one driver."""

"""Tables of backends: their versions, what changed between two, how rows lie, and running plans over them."""

"""Update exchange: figures 4 to 10 of green-2007, and Nemo beside them."""

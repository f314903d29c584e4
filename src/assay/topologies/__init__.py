"""Networks of clusters: kinds, wiring, routes, and what follows from them."""

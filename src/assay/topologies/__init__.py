"""Networks of clusters: kinds, wiring, routes, and quantities that follow from them."""

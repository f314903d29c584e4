"""Design of a cluster: parts with prices, requirements, candidates, and the choice among them."""

"""The cost of the queue: a load replayed by a modelled scheduler, and what-ifs."""

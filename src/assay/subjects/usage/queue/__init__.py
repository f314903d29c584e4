"""What the queue costs: a load replayed by a modelled scheduler, and what-ifs."""

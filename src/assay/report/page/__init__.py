"""One page of a report for a board, on A4 and on letter paper."""

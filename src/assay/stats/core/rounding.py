"""Bounds of rounding errors that several modules share."""

# Relative: sums, quotients and logarithms of doubles that are equal but for rounding are nearer.
RELATIVE = 1e-12
# The least divisor where an error or a spread may be 0: logarithms or seconds, below a clock's.
LEAST_DIVISOR = 1e-12
# The part of a column's sum of squares that a projection leaves by rounding alone, where what is
# projected on holds the column already.
PROJECTED = 1e-9

"""Bounds of rounding errors that several modules share."""

# Relative: sums, quotients and logarithms that differ by less differ only by rounding.
RELATIVE = 1e-12
# Minimum divisor where an error or a spread may be 0: in seconds below a clock's resolution, or in
# logarithms.
LEAST_DIVISOR = 1e-12
# Share of a column's sum of squares that mere rounding leaves after projection on a space that
# contains the column.
PROJECTED = 1e-9

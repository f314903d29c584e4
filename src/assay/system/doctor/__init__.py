"""What on a machine or a cluster will hurt a measurement, and what to do about it."""

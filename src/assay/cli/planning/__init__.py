"""Commands on a machine's use and on the next machine."""

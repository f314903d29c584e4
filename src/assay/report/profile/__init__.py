"""The report on a program's profile."""

"""The names of call sites: functions and lines of the program's source."""

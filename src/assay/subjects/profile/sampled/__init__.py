"""The samples of a program's call stacks as a subject of reports."""

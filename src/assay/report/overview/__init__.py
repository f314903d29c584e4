"""The first screen of a report: the machine in a line, the finding that matters most, the order."""

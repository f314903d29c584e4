"""The first screen of a report: the machine in one line, the most important finding, the order."""

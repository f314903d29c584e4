"""The model of a batch scheduler: what it is given, and the schedule that it makes."""

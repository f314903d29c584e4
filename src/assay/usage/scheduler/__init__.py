"""The model of a batch scheduler: its input, and the schedule that it makes."""

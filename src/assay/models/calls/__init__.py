"""Schedules of calls: what each rank of a program computes and sends, in order."""

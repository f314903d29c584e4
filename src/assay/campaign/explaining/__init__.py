"""Launches of a program that tell why it isn't faster."""

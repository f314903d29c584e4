"""Campaigns execute plans: they decide what to launch next, launch it, and store the results."""

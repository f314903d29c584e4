"""Concurrent messages: pairs, senders, windows."""

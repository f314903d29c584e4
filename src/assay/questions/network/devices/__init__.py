"""Devices of a node: copies between every two of them, and collectives over all."""

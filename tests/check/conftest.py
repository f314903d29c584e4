"""Fixtures of the tests of node checks."""

from __future__ import annotations

from checked_devices import device_folder, fake_cuda, learned_devices
from checked_node import learned_folder, node_folder

__all__ = ["device_folder", "fake_cuda", "learned_devices", "learned_folder", "node_folder"]

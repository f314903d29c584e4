"""Machines described by node measurements and an interconnect; what predictions start from."""

"""Reports on how busy a machine is."""

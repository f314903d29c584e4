"""The parts of a cluster: what a catalogue states of each, reading and joining catalogues."""

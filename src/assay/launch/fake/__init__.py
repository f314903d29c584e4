"""An executor that measures nothing: a machine that a scenario describes."""

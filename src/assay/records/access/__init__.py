"""Access to the files of runs: without following links, and only to runs of this user."""

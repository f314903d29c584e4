"""What reports cover besides the questions about a run: groups of runs, logs, programs, designs."""

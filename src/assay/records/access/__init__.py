"""Who may go on with a run."""

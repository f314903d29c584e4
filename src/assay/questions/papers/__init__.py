"""What a paper measured, figure by figure, beside what this machine does today."""

"""The numbers of a paper, figure by figure, compared with this machine."""

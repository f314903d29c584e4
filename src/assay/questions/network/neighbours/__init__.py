"""Exchange between neighbours in a grid: neighbourhood collectives against messages."""

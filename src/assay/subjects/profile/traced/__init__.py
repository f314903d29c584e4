"""Where does the program wait, for whom, and what would other networks give? From its trace."""

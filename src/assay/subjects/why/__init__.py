"""Why a program isn't faster: the reasons, their costs, and what to change first."""

"""Archives of acceptances: everything that a verdict rests on, in one file for the other side."""

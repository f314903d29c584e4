"""Storage by the rules of IO500: score, phases, shared file against files of the ranks."""

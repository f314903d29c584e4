"""A campaign carries a plan out: it decides what to launch next, launches it, and files it."""

"""A site: static pages about the runs of several machines, rebuilt only where runs changed."""

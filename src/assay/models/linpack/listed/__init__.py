"""Rmax and N½ of systems described as on the TOP500: cores, peak, order, names, year."""

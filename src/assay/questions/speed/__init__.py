"""How fast is it, and how far from its limits?"""

"""How steady is it?"""

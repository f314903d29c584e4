"""How should I use its nodes?"""

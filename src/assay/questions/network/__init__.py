"""How does its network behave?"""

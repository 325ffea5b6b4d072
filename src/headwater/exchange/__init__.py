"""Update exchange between peers: who edits what, what travels, and what each peer makes of it.

Green, Karvounarakis, Ives, Tannen: Update Exchange with Mappings and Provenance (VLDB 2007).
"""

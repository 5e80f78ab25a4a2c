"""The documents that this program writes, declared once: one file per family.

`record` has the rules that all of them follow; `result`, `pts`, … declare what is in each.
"""

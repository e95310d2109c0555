"""Measurements of Coffer beside the tools people would use instead: `python -m bench` prints one table.

Every figure is taken in the same run as the thing it is compared with, in turns, and quoted as a median.
"""

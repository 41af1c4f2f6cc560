"""Plots: a View or a Profile as a matplotlib figure, for papers and for dark notebooks.

Each takes an Axes or makes one, and gives it back. Nothing here shows a figure, changes rcParams or
touches pyplot where an Axes is given. Data stay raw (µs, bytes): only the axes' labels are scaled.
matplotlib is imported with these files, and these files only when something is plotted.
"""

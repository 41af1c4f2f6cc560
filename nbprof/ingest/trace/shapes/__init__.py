"""Shapes of runs, and the float operations and output bytes that follow from them."""

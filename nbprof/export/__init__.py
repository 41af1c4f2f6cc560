"""Exports: a View or a Profile as a file that another program reads."""

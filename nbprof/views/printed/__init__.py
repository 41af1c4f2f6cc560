"""Printed reports: the text of tfprof's report, of any release, back into a View.

`report.py` finds the table among the lines around it; `legend.py` says which columns it has,
`op_rows.py` and `tree_rows.py` read its rows, `which.py` finds out which view it is.
"""

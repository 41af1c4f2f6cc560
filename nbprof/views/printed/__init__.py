"""Printed reports: the text of tfprof's report, of any release, back into a View.

`report.py` finds the table among the lines around it, `view_guess.py` which view it is; `legend.py`
reads its columns, `op_rows.py` and `tree_rows.py` its rows, and `frame.py` lays out the View.
"""

"""Printed reports: the text of tfprof's report, of any release, back into a View.

`parse_report.py` finds the table in the text and `view_guess.py` the view it shows; `legend.py`
reads its columns, `op_rows.py` and `tree_rows.py` its rows, and `frame.py` lays out the View.
"""

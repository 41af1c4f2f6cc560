"""The explorer: a report with its numbers, and the JavaScript that shows it.

`buffer_store.py` turns columns into bytes; `packed_view.py`, `run_kinds.py` and
`packed_timeline.py` say which columns. `payload.py` collects them, `fit_output.py` as many as an
output may hold. `script.py` joins the modules of `js/`, `page.py` writes HTML,
`explorer_widget.py` is the live one.
"""

"""The explorer: views with their numbers, and the JavaScript that shows them.

`packing.py` turns a View into columns of bytes, `payload.py` chooses what goes into one output,
`script.py` joins the modules of `js/`, `page.py` writes HTML, `widget.py` is the live one.
"""

"""Watch the Python side of a cell: samples of its stacks, its calls, its lines, its allocations."""

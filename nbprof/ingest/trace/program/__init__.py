"""Stage 2: the definitions behind the nodes that ran."""

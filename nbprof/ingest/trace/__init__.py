"""Work out what the events of a trace mean: op runs, steps, layers, lines, memory."""

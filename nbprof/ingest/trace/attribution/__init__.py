"""Stage 3: the line of Python, the layer and the device that each run belongs to."""

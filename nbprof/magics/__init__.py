"""The front door: the magics, their lines, and how a cell is run."""

"""The magics: their tables, their lines, and how a cell is run."""

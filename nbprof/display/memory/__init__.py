"""What the memory magics show: text, HTML, and curves."""

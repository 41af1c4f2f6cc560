"""Results about memory as text, HTML, drawings and a widget."""

"""The bytes of a text."""


def letters(text: str) -> bytes:
    """Spell a text in UTF-8, bytes that were none as they were; half a character is U+FFFD."""
    try:
        return text.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()

"""Shrink a failing list or protobuf message while it still fails."""

from support.random_messages import is_list


def fewer(items, fails):
    """Return a shorter list that still fails, leaving out halves, quarters, … single items."""
    items = list(items)
    size = len(items)
    while size:
        start = 0
        while start < len(items):
            shorter = items[:start] + items[start + size :]
            if fails(shorter):
                items = shorter
            else:
                start += size
        size //= 2
    return items


def smaller(kind, content, fails, keep=("name", "node_name", "id_to_string")):
    """Return a smaller serialized message that still fails.

    Args:
        kind: class of the message.
        content: its bytes.
        fails: returns whether such bytes, never empty ones, still fail.
        keep: fields to leave as they are.
    """
    message = kind.FromString(content)

    def still_fails():
        return message.ByteSize() > 0 and fails(message.SerializeToString(deterministic=True))

    _reduce(message, still_fails, keep)
    return message.SerializeToString(deterministic=True)


def _reduce(message, fails, keep):
    fields = [field for field, _ in message.ListFields() if field.name not in keep]
    for field in fields:
        whole = _only(message, field.name)
        message.ClearField(field.name)
        if fails():
            continue
        message.MergeFrom(whole)
        value = getattr(message, field.name)
        if field.message_type and field.message_type.GetOptions().map_entry:
            _reduce_map(value, fails)
        elif is_list(field):
            _reduce_list(message, field.name, fails, keep)
        elif field.message_type:
            _reduce(value, fails, keep)


def _only(message, name):
    """Return a copy of the message with only this field."""
    copy = type(message)()
    copy.CopyFrom(message)
    for field, _ in message.ListFields():
        if field.name != name:
            copy.ClearField(field.name)
    return copy


def _reduce_list(message, name, fails, keep):
    items = list(getattr(_only(message, name), name))

    def put(kept):
        message.ClearField(name)
        getattr(message, name).extend(kept)
        return fails()

    put(fewer(items, put))
    for item in getattr(message, name):
        if hasattr(item, "ListFields"):
            _reduce(item, fails, keep)


def _reduce_map(values, fails):
    for key in sorted(values):
        kept = type(values[key])()
        kept.CopyFrom(values[key])
        del values[key]
        if not fails():
            values[key].CopyFrom(kept)

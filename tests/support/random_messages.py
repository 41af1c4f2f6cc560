"""Fill any protobuf message at random, from its descriptor."""

from google.protobuf.descriptor import FieldDescriptor as Field

TEXTS = ("", "a", "model/dense_1/MatMul", "GPU_0_bfc", "^x:1", "ünïcödé", "x" * 200)
NUMBERS = (0, 1, -1, 127, 128, 300, 2**31 - 1, -(2**31))


def fill(message, mix, depth=6):
    """Set about half of the fields; maps and lists get at most three entries."""
    for field in message.DESCRIPTOR.fields:
        if mix.random() < 0.4 or (field.message_type and depth == 0):
            continue
        if field.message_type and field.message_type.GetOptions().map_entry:
            _fill_map(message, field, mix, depth)
        elif is_list(field):
            _fill_list(message, field, mix, depth)
        elif field.message_type:
            getattr(message, field.name).SetInParent()
            fill(getattr(message, field.name), mix, depth - 1)
        else:
            setattr(message, field.name, scalar(field, mix))
    return message


def is_list(field):
    """Tell whether a field is repeated: `is_repeated` came as `label` went, so use neither."""
    return field.default_value == []


def _fill_map(message, field, mix, depth):
    key, value = field.message_type.fields
    table = getattr(message, field.name)
    for _ in range(mix.randint(0, 3)):
        if value.message_type:
            fill(table[scalar(key, mix)], mix, depth - 1)
        else:
            table[scalar(key, mix)] = scalar(value, mix)


def _fill_list(message, field, mix, depth):
    items = getattr(message, field.name)
    for _ in range(mix.randint(0, 3)):
        if field.message_type:
            fill(items.add(), mix, depth - 1)
        else:
            items.append(scalar(field, mix))


def scalar(field, mix):
    match field.type:
        case Field.TYPE_STRING:
            return mix.choice(TEXTS)
        case Field.TYPE_BYTES:
            return mix.choice((b"NHWC", b"", bytes(range(256))))
        case Field.TYPE_BOOL:
            return mix.random() < 0.5
        case Field.TYPE_FLOAT | Field.TYPE_DOUBLE:
            return mix.choice((0.0, -1.5, 0.25, 1e30, float("inf")))
        case Field.TYPE_ENUM:
            return mix.choice(field.enum_type.values).number
        case Field.TYPE_INT32:
            return mix.choice(NUMBERS)
        case Field.TYPE_UINT32 | Field.TYPE_FIXED32:
            return mix.choice((0, 5, 2**32 - 1))
        case Field.TYPE_UINT64 | Field.TYPE_FIXED64:
            return mix.choice((0, 5, 2**64 - 1, mix.getrandbits(60)))
        case _:
            return mix.choice((*NUMBERS, 2**63 - 1, -(2**63), mix.getrandbits(50)))

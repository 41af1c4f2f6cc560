"""Tags of the fields in a trace, as ``tsl/profiler/protobuf/xplane.proto`` numbers them."""

from nbprof.ingest.protobuf.repeated_fields import tag
from nbprof.ingest.protobuf.wire import FIXED64, VARINT

SPACE_PLANE = tag(1)

PLANE_NAME = tag(2)
PLANE_LINE = tag(3)
PLANE_EVENT_METADATA = tag(4)
PLANE_STAT_METADATA = tag(5)
PLANE_STAT = tag(6)

LINE_ID = tag(1, VARINT)
LINE_NAME = tag(2)
LINE_TIMESTAMP_NS = tag(3, VARINT)
LINE_EVENT = tag(4)

EVENT_METADATA_ID = tag(1, VARINT)
EVENT_OFFSET_PS = tag(2, VARINT)
EVENT_DURATION_PS = tag(3, VARINT)
EVENT_STAT = tag(4)
EVENT_OCCURRENCES = tag(5, VARINT)

STAT_METADATA_ID = tag(1, VARINT)
STAT_DOUBLE = tag(2, FIXED64)
STAT_UINT64 = tag(3, VARINT)
STAT_INT64 = tag(4, VARINT)
STAT_TEXT = tag(5)
STAT_BYTES = tag(6)
STAT_REFERENCE = tag(7, VARINT)
STAT_VALUES = (STAT_DOUBLE, STAT_UINT64, STAT_INT64, STAT_TEXT, STAT_BYTES, STAT_REFERENCE)
"""The tags a stat's value may have."""

ENTRY_KEY = tag(1, VARINT)
ENTRY_VALUE = tag(2)

METADATA_NAME = tag(2)
METADATA_DISPLAY_NAME = tag(4)
METADATA_STAT = tag(5)

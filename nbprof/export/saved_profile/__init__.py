"""The file in which tfprof saves a profile, a ProfileProto."""

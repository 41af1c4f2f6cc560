"""Read the files of tfprof into columns, and write its saved profiles, without TensorFlow."""

"""Read tfprof's files into columns, without TensorFlow."""

"""Record what TensorFlow does in this process; nothing else in nbprof imports TensorFlow."""

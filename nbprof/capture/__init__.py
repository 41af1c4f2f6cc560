"""Capture: record what TensorFlow does in this process. The only room that imports TensorFlow."""

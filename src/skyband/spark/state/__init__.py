"""What a stream keeps between micro-batches: state keys, the state store, checkpoints."""

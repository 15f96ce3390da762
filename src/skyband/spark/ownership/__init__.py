"""Who owns a checkpoint and a sink: a job, and of its processes the one that holds the lease."""

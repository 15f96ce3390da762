"""The stages of the pipeline: prune, maintain, unpack, and what may be dropped before them."""

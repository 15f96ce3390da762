"""What the records of a family are: with one score, with a score for each query, values of objects, or uncertain.
Everything that differs between data models at run time is here, and nowhere else."""

//! Reading Slurm: parsers from its text and JSON to plain facts.

"""The ledger: what producers and readers wrote down about every record, one table per file."""

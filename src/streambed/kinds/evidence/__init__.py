"""What checks and reports derive from a history: faults in time, readers, journeys of records."""

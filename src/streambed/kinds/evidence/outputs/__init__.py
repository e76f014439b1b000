"""What was made of the records of a topic: outputs, matched to the inputs in the log."""

"""Why a record ended as it did: its journey from the producer to every reader."""

"""When a fault is injected: at a time, again and again, at random times, or on a trigger."""

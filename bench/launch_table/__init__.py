"""Named programs of array code, and what each costs: operations, launches, bytes."""
